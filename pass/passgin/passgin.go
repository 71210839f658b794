// Package passgin is package pass for gin.
package passgin

import (
	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/pass"
)

// Handler guards the handlers that come after it:
//
//	guard, err := pass.NewMiddleware(pass.Options{…})
//	router.Use(passgin.Handler(guard))
//
// pass.FromContext(c.Request.Context()) gives what the visitor's pass says.
func Handler(m *pass.Middleware) gin.HandlerFunc {
	return func(c *gin.Context) {
		r, private := m.Admit(c.Writer, c.Request)
		if r == nil {
			c.Abort()
			c.Writer.WriteHeaderNow()
			return
		}
		c.Request = r
		if private {
			c.Writer = &writer{c.Writer}
		}
		c.Next()
	}
}

// writer is an answer that carries a visitor's cookie: whatever the handlers say, no shared cache may keep it.
type writer struct{ gin.ResponseWriter }

func (w *writer) private() {
	if !w.Written() {
		w.Header().Set("Cache-Control", "private, no-store")
	}
}

func (w *writer) WriteHeaderNow()             { w.private(); w.ResponseWriter.WriteHeaderNow() }
func (w *writer) Write(b []byte) (int, error) { w.private(); return w.ResponseWriter.Write(b) }
func (w *writer) WriteString(s string) (int, error) {
	w.private()
	return w.ResponseWriter.WriteString(s)
}
func (w *writer) Flush() { w.private(); w.ResponseWriter.Flush() }
