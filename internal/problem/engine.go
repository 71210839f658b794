package problem

import (
	"log/slog"
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"
)

// NewEngine makes a router by the rules of the house: paths are matched as they were sent, so that an encoded slash in
// a value never changes the route; nothing is redirected; what is not there is a problem document.
// Read values with Param. A nil log is slog.Default().
func NewEngine(log *slog.Logger) *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.UseEscapedPath = true
	e.UnescapePathValues = false // gin would turn + into a space; Param unescapes
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.HandleMethodNotAllowed = true
	e.ForwardedByClientIP = false // --trusted-proxies is the gate's business
	e.NoRoute(NotFound)
	e.NoMethod(MethodNotAllowed)
	if log != nil && log != slog.Default() { // carrying a log costs each request a map
		e.Use(func(c *gin.Context) { c.Set(logKey, log) })
	}
	return e
}

// Param gives a path value, percent-decoded once. A router that is not from NewEngine may have decoded it already.
func Param(c *gin.Context, name string) string {
	v := c.Param(name)
	if s, err := url.PathUnescape(v); err == nil {
		return s
	}
	return v
}

// NotFound answers 404 not_found. `OPTIONS *`, which asks whether the server as a whole is there, is answered that it is;
// set the server's DisableGeneralOptionsHandler, so that it comes here.
func NotFound(c *gin.Context) {
	if c.Request.Method == http.MethodOptions && c.Request.RequestURI == "*" {
		c.Writer.Header().Set("Cache-Control", "no-store")
		c.Status(http.StatusNoContent)
		return
	}
	Answer(c, ErrNotFound)
}

// MethodNotAllowed answers 405 method_not_allowed; gin has set Allow.
func MethodNotAllowed(c *gin.Context) { Answer(c, ErrMethodNotAllowed) }

// Bounds of what a request may bring, in bytes.
const (
	MaxBody    = 64 << 10
	MaxHeaders = 16 << 10
)

// Bound refuses header blocks over 16 KiB with 431 and ends bodies at 64 KiB, where reading them gives
// ErrBodyTooLarge. Set the server's MaxHeaderBytes to MaxHeaders too: it cuts off what is far over.
func Bound(c *gin.Context) {
	r := c.Request
	size := len(r.Method) + len(r.RequestURI) + len(r.Host) + 20
	for k, vs := range r.Header {
		for _, v := range vs {
			size += len(k) + len(v) + 4
		}
	}
	if size > MaxHeaders {
		Answer(c, ErrHeadersTooLarge)
		return
	}
	if r.ContentLength > MaxBody {
		c.Writer.Header().Set("Connection", "close") // else the server waits for the body before it sends the answer
		Answer(c, ErrBodyTooLarge)
		return
	}
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = http.MaxBytesReader(c.Writer, r.Body, MaxBody)
	}
}
