package pass

import (
	"bufio"
	"net"
	"net/http"
)

// privateWriter is an answer that carries a visitor's cookie: whatever the handler says, no shared cache may keep it.
type privateWriter struct {
	http.ResponseWriter
	wrote bool
}

// WriteHeader sends the status, and with it who may keep the answer.
func (w *privateWriter) WriteHeader(status int) {
	if !w.wrote && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.wrote = true
		w.Header().Set("Cache-Control", "private, no-store")
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *privateWriter) Write(b []byte) (int, error) {
	if !w.wrote {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

// Flush sends what is there (http.Flusher).
func (w *privateWriter) Flush() {
	if !w.wrote {
		w.WriteHeader(http.StatusOK)
	}
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack hands the connection over (http.Hijacker).
func (w *privateWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// Unwrap gives the answer beneath to http.ResponseController.
func (w *privateWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
