package passgin_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/pass"
	"github.com/sluicehq/sluice/pass/passgin"
)

// service has a key, and lets everybody wait but those who come for sku-off.
func service(t *testing.T, key *pass.Key) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/.well-known/jwks.json":
			w.Write(pass.NewKeys(key).MarshalJWKS())
		case strings.Contains(r.URL.Path, "sku-off"):
			w.Header().Set("Set-Cookie", "sluice_visitor=v")
			fmt.Fprint(w, `{"action":"pass","reason":"queue_off"}`)
		default:
			fmt.Fprint(w, `{"action":"wait","reason":"queue_on"}`)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestGinHandlersAreGuarded(t *testing.T) {
	t.Parallel()
	key := pass.NewKey([32]byte{1})
	url := service(t, key)
	guard, err := pass.NewMiddleware(pass.Options{Service: url, Item: func(r *http.Request) string { return r.URL.Query().Get("item") }})
	if err != nil {
		t.Fatal(err)
	}
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.Use(passgin.Handler(guard))
	router.GET("/", func(c *gin.Context) {
		claims, _ := pass.FromContext(c.Request.Context())
		c.Header("Cache-Control", "public")
		c.String(http.StatusOK, "visitor %s", claims.Visitor)
	})
	now := time.Now()
	token := key.Sign(pass.Claims{Issuer: url, Item: "sku-1", Visitor: "v1", IssuedAt: now, ExpiresAt: now.Add(time.Minute)})
	for _, c := range []struct {
		address, pass string
		status        int
		body, cache   string
	}{
		{"/", "", 200, "visitor ", "public"},
		{"/?item=sku-off", "", 200, "visitor ", "private, no-store"},
		{"/?item=sku-1", "", 302, "", "no-store"},
		{"/?item=sku-1", token, 200, "visitor v1", "public"},
		{"/?item=sku-2", token, 302, "", "no-store"},
	} {
		r := httptest.NewRequest("GET", c.address, nil)
		r.Header.Set("Sluice-Pass", c.pass)
		w := httptest.NewRecorder()
		router.ServeHTTP(w, r)
		if w.Code != c.status || w.Body.String() != c.body || w.Header().Get("Cache-Control") != c.cache {
			t.Errorf("%s: %d %q %v", c.address, w.Code, w.Body, w.Header())
		}
	}
}
