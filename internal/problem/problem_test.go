package problem

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/fault"
)

// serve answers one request with a handler on an engine of the house, and gives the answer and the log.
func serve(t *testing.T, r *http.Request, h gin.HandlerFunc) (*httptest.ResponseRecorder, string) {
	t.Helper()
	var buf bytes.Buffer
	e := NewEngine(slog.New(slog.NewTextHandler(&buf, &slog.HandlerOptions{Level: slog.LevelDebug})))
	e.Use(Identify, Requests(slog.LevelInfo), Recover, Bound)
	e.Any("/items/:item/check", h)
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	return w, buf.String()
}

func request(body string) *http.Request {
	return httptest.NewRequest("POST", "/items/x/check", strings.NewReader(body))
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	secret := errors.New("dial redis://user:hunter2@10.0.0.1")
	for _, tc := range []struct {
		name   string
		err    error
		status int
		code   string
		logged string
	}{
		{"a fault has its status, and its cause goes to the log alone", fault.New("wrong_state", "No.").Because(secret), 409, "wrong_state", "level=DEBUG"},
		{"a wrapped fault is found", fmt.Errorf("admit x: %w", fault.New("no_place", "None.")), 404, "no_place", "admit x"},
		{"any other error is internal and logged as an error", secret, 500, "internal", "level=ERROR"},
		{"a fault with a word that is not in the table is internal", fault.New("redis_oops", "hunter2"), 500, "internal", "redis_oops"},
		{"an outage that others have logged is no error line a request", fault.New("store_down", "Down.").Because(secret), 503, "store_down", "level=DEBUG"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w, log := serve(t, request(""), Handle(func(*gin.Context) error { return tc.err }))
			var p Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
				t.Fatal(err)
			}
			if w.Code != tc.status || p.Status != tc.status || p.Code != tc.code || p.Title == "" || p.Detail == "" || p.Type == "" {
				t.Errorf("answered %d %+v", w.Code, p)
			}
			if got := w.Header().Get("Content-Type"); got != ContentType {
				t.Errorf("Content-Type %q", got)
			}
			if strings.Contains(w.Body.String(), "hunter2") {
				t.Errorf("the cause is shown: %s", w.Body)
			}
			if strings.Count(log, "request failed") != 1 || !strings.Contains(log, tc.logged) {
				t.Errorf("want one line with %q in\n%s", tc.logged, log)
			}
		})
	}
}

func TestAnswerTellsTheEffectInNumbers(t *testing.T) {
	t.Parallel()
	w, _ := serve(t, request(""), Handle(func(*gin.Context) error {
		return &Effect{Err: fault.New("confirm_needed", "7 people wait."), Numbers: map[string]int64{"waiting": 7}}
	}))
	if w.Code != 409 || !strings.Contains(w.Body.String(), `"effect":{"waiting":7}`) {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
}

func TestACallerWhoHasGoneIsNoError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, log := serve(t, request("").WithContext(ctx), Handle(func(c *gin.Context) error { return c.Request.Context().Err() }))
	if strings.Contains(log, "ERROR") {
		t.Error(log)
	}
}

func TestRecoverAnswersAPanicOnce(t *testing.T) {
	t.Parallel()
	w, log := serve(t, request(""), func(*gin.Context) { panic("hunter2") })
	if w.Code != 500 || strings.Contains(w.Body.String(), "hunter2") || !strings.Contains(w.Body.String(), `"internal"`) {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
	if strings.Count(log, "msg=panic") != 1 || !strings.Contains(log, "stack=") {
		t.Error(log)
	}
}

// B067, B065: what a path means never depends on how it is written.
func TestRoutes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, method, path string
		status             int
		body               string
	}{
		{"a value is decoded once", "GET", "/items/a%2Fb/check", 200, "a/b"},
		{"a plus stays a plus", "GET", "/items/a+b/check", 200, "a+b"},
		{"a percent sign in a value survives", "GET", "/items/a%2541/check", 200, "a%41"},
		{"an encoded slash does not reach another route", "GET", "/items/x%2Fcheck", 404, "not_found"},
		{"a slash at the end is another address", "GET", "/items/x/check/", 404, "not_found"},
		{"a doubled slash is another address", "GET", "//items/x/check", 404, "not_found"},
		{"the case of a path counts", "GET", "/Items/x/check", 404, "not_found"},
		{"dots are not resolved", "GET", "/items/x/../y/check", 404, "not_found"},
		{"another method is named as such", "PROPFIND", "/items/x/check", 405, "method_not_allowed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(tc.method, tc.path, nil)
			w, _ := serve(t, r, func(c *gin.Context) { c.String(200, Param(c, "item")) })
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.body) {
				t.Errorf("answered %d %s", w.Code, w.Body)
			}
			if w.Header().Get(RequestIDHeader) == "" {
				t.Error("no request id")
			}
			if tc.status == 405 && w.Header().Get("Allow") == "" {
				t.Error("no Allow")
			}
		})
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, sent string
		kept       bool
	}{
		{"a sane one is kept", "Ab0._:-z", true},
		{"the longest is kept", strings.Repeat("x", 128), true},
		{"none is replaced", "", false},
		{"one that is too long is replaced", strings.Repeat("x", 129), false},
		{"one that would split a log line is replaced", "a\nb", false},
		{"one with markup is replaced", "<b>", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := requestID(http.Header{RequestIDHeader: {tc.sent}})[0]
			if (got == tc.sent) != tc.kept || !sane(got) {
				t.Errorf("got %q", got)
			}
		})
	}
	seen := map[string]bool{}
	for range 3 * idRun {
		id := requestID(nil)
		if len(id) != 1 || cap(id) != 1 || !sane(id[0]) || seen[id[0]] {
			t.Fatalf("%q, or twice", id)
		}
		seen[id[0]] = true
	}
}

func TestBound(t *testing.T) {
	t.Parallel()
	read := Handle(func(c *gin.Context) error { _, err := ReadBody(c); return err })
	big := request(strings.Repeat("x", MaxBody+1))
	unsized := request(strings.Repeat("x", MaxBody+1))
	unsized.ContentLength = -1
	full := request(strings.Repeat("x", MaxBody))
	headers := request("")
	headers.Header.Set("X-Long", strings.Repeat("x", MaxHeaders))
	for name, tc := range map[string]struct {
		r    *http.Request
		want int
	}{
		"a body over the bound is refused":              {big, 413},
		"a body over the bound of no told size as well": {unsized, 413},
		"a body of the bound is read":                   {full, 200},
		"headers over the bound are refused":            {headers, 431},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if w, _ := serve(t, tc.r, read); w.Code != tc.want {
				t.Errorf("answered %d %s", w.Code, w.Body)
			}
		})
	}
}

// The table, the document and the faults of this package tell the same.
func TestDocsListEveryCode(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (\\d+) \\|").FindAllStringSubmatch(string(doc), -1) {
		listed = append(listed, m[1])
		if status, _ := strconv.Atoi(m[2]); status != Status(m[1]) {
			t.Errorf("docs say %s is %s, the table %d", m[1], m[2], Status(m[1]))
		}
	}
	slices.Sort(listed)
	if !slices.Equal(listed, Codes()) {
		t.Errorf("docs list\n%v\nthe table\n%v", listed, Codes())
	}
}
