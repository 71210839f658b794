package problem

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
)

// RequestIDHeader names a request in answers and logs. It is in the canonical form of header maps.
const RequestIDHeader = "X-Request-Id"

const (
	logKey  = "sluice.log"
	codeKey = "sluice.code"
)

// logger gives the log that NewEngine was given.
func logger(c *gin.Context) *slog.Logger {
	if v, ok := c.Get(logKey); ok {
		return v.(*slog.Logger)
	}
	return slog.Default()
}

// requestID gives the caller's request id where it sent a sane one (1 to 128 of A-Z a-z 0-9 . _ : -), else a new one, as
// the values of a header.
func requestID(h http.Header) []string {
	if ids := h[RequestIDHeader]; len(ids) > 0 && sane(ids[0]) {
		return ids[:1:1]
	}
	return newID()
}

// idRun is how many new ids are made at once: one by one, each would be a text, its copy and a list.
const idRun = 64

// Ids of this process: a random part and a count, which costs far less than 16 random bytes a request.
var (
	idPrefix = rand.Text()[:12] + "-"
	idCount  atomic.Uint64
	idRuns   = sync.Pool{New: func() any { return new([]string) }} // of ids that are left over
)

func newID() []string {
	left := idRuns.Get().(*[]string)
	defer idRuns.Put(left)
	if len(*left) == 0 {
		*left = idsFrom(idCount.Add(idRun) - idRun)
	}
	id := (*left)[:1:1]
	*left = (*left)[1:]
	return id
}

// idsFrom makes a run of ids, all of them parts of one text.
func idsFrom(first uint64) []string {
	var b []byte
	ends := make([]int, idRun)
	for i := range ends {
		b = strconv.AppendUint(append(b, idPrefix...), first+uint64(i), 36)
		ends[i] = len(b)
	}
	all, ids := string(b), make([]string, idRun)
	begin := 0
	for i, end := range ends {
		ids[i], begin = all[begin:end], end
	}
	return ids
}

func sane(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for i := range len(id) {
		switch b := id[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		case b == '.', b == '_', b == ':', b == '-':
		default:
			return false
		}
	}
	return true
}

// Identify puts the request id on the answer.
func Identify(c *gin.Context) { c.Writer.Header()[RequestIDHeader] = requestID(c.Request.Header) }

// Requests logs each request at a level: method, route, status, code and time, nothing that tells who asked or for
// what. Where the log does not take the level it costs nothing.
func Requests(level slog.Level) gin.HandlerFunc {
	return func(c *gin.Context) {
		log, ctx := logger(c), c.Request.Context()
		if !log.Enabled(ctx, level) {
			return
		}
		start := time.Now()
		c.Next()
		attrs := []slog.Attr{
			slog.String("method", c.Request.Method), slog.String("route", c.FullPath()), slog.Int("status", c.Writer.Status()),
			slog.Int("bytes", max(c.Writer.Size(), 0)), slog.Float64("took_ms", float64(time.Since(start).Microseconds())/1000),
			slog.String("request_id", c.Writer.Header().Get(RequestIDHeader)),
		}
		if code := c.GetString(codeKey); code != "" {
			attrs = append(attrs, slog.String("code", code))
		}
		log.LogAttrs(ctx, level, "request", attrs...)
	}
}

// Recover answers 500 internal where a handler panics, and logs the panic with its stack.
func Recover(c *gin.Context) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(v) // net/http's own way to end a connection
		}
		logger(c).ErrorContext(c.Request.Context(), "panic", "value", v, "route", c.FullPath(), "stack", string(debug.Stack()),
			"request_id", c.Writer.Header().Get(RequestIDHeader))
		c.Abort()
		write(c, Of(ErrInternal))
	}()
	c.Next()
}
