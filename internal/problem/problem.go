// Package problem answers HTTP requests that went wrong: one table says which status a fault has, one place answers
// and logs, and every answer is application/problem+json (RFC 9457). It also holds what all three listeners share: the
// router's settings, request ids, request logs, recovery and the strict reading of bodies.
package problem

import (
	"cmp"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/fault"
)

// ContentType is that of every problem answered.
const ContentType = "application/problem+json"

// Faults of the HTTP surface itself; those of the domain are in package queue.
var (
	ErrInternal         = fault.New("internal", "Something went wrong on our side. The request id finds it in the log.")
	ErrNotFound         = fault.New("not_found", "There is nothing at this address.")
	ErrMethodNotAllowed = fault.New("method_not_allowed", "This address does not take this method; Allow lists those it takes.")
	ErrInvalidBody      = fault.New("invalid_body", "The body is not the JSON object that is expected here.")
	ErrBodyTooLarge     = fault.New("body_too_large", "The body is larger than 64 KiB.")
	ErrHeadersTooLarge  = fault.New("headers_too_large", "The headers are larger than 16 KiB.")
	ErrNotAvailable     = fault.New("not_available", "This is not available in this version.")
	ErrUnauthorized     = fault.New("unauthorized", "Sign in, or send a valid token: Authorization: Bearer <token>.")
	ErrForbidden        = fault.New("forbidden", "Your role does not allow that.")
)

// kind is what the table says of a code.
type kind struct {
	status int
	title  string
	// quiet kinds are logged for debugging only: whoever notices the outage itself has logged it once, and one line a
	// request would be a flood.
	quiet bool
}

// table is the one list of codes; docs/errors.md explains each.
var table = map[string]kind{
	"bad_request":              {http.StatusBadRequest, "Not an HTTP request", true},
	"invalid_item":             {http.StatusBadRequest, "Not an item id", true},
	"invalid_visitor":          {http.StatusBadRequest, "Not a visitor id", true},
	"invalid_pattern":          {http.StatusBadRequest, "Not a pattern", true},
	"invalid_policy":           {http.StatusBadRequest, "The policy is not valid", true},
	"invalid_sale":             {http.StatusBadRequest, "The sale is not valid", true},
	"doubtful_time":            {http.StatusBadRequest, "A local time is doubtful", true},
	"invalid_body":             {http.StatusBadRequest, "The body is not valid", true},
	"invalid_parameter":        {http.StatusBadRequest, "A query parameter is not valid", true},
	"webhook_target":           {http.StatusBadRequest, "Not a target of webhooks", true},
	"not_available":            {http.StatusBadRequest, "Not available", true},
	"return_not_allowed":       {http.StatusBadRequest, "The return address is not allowed", true},
	"login_failed":             {http.StatusUnauthorized, "Not signed in", true},
	"unauthorized":             {http.StatusUnauthorized, "Not signed in", true},
	"cross_origin":             {http.StatusForbidden, "From another origin", true},
	"no_role":                  {http.StatusForbidden, "No role", true},
	"forbidden":                {http.StatusForbidden, "Not allowed", true},
	"user_needs_service_token": {http.StatusForbidden, "A service token is needed", true},
	"no_place":                 {http.StatusNotFound, "No place in line", true},
	"not_found":                {http.StatusNotFound, "Not found", true},
	"method_not_allowed":       {http.StatusMethodNotAllowed, "Method not allowed", true},
	"confirm_needed":           {http.StatusConflict, "Confirmation needed", true},
	"wrong_state":              {http.StatusConflict, "Not possible in this state", true},
	"already_exists":           {http.StatusConflict, "It exists already", true},
	"own_account":              {http.StatusConflict, "Not for the own account", true},
	"mode_fixed":               {http.StatusConflict, "The policy fixes this queue", true},
	"sale_overlap":             {http.StatusConflict, "Another sale is on then", true},
	"stale_etag":               {http.StatusPreconditionFailed, "Changed meanwhile", true},
	"body_too_large":           {http.StatusRequestEntityTooLarge, "The body is too large", true},
	"headers_too_large":        {http.StatusRequestHeaderFieldsTooLarge, "The headers are too large", true},
	"expectation_failed":       {http.StatusExpectationFailed, "The expectation cannot be met", true},
	"too_many_places":          {http.StatusTooManyRequests, "Too many places from one address", true},
	"too_many_logins":          {http.StatusTooManyRequests, "Too many failed sign-ins", true},
	"unsupported_coding":       {http.StatusNotImplemented, "The transfer coding is not supported", true},
	"unsupported_version":      {http.StatusHTTPVersionNotSupported, "The version of HTTP is not supported", true},
	"too_many_streams":         {http.StatusServiceUnavailable, "Too many event streams", true},
	"sso_unavailable":          {http.StatusServiceUnavailable, "Single sign-on cannot be reached", true},
	"store_down":               {http.StatusServiceUnavailable, "The store cannot be reached", true},
	"settings_unavailable":     {http.StatusServiceUnavailable, "Settings cannot be changed now", false},
	"internal":                 {http.StatusInternalServerError, "Internal error", false},
}

// Codes lists every code that an answer may carry, in text order.
func Codes() []string { return slices.Sorted(maps.Keys(table)) }

// Status gives the HTTP status of a code, 500 for one that is not in the table.
func Status(code string) int {
	if k, ok := table[code]; ok {
		return k.status
	}
	return http.StatusInternalServerError
}

// Problem is the body of an answer.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
	// Effect says in numbers what a request that needs confirmation would do; absent elsewhere.
	Effect map[string]int64 `json:"effect,omitempty"`
}

// Effect is an error that also tells, in numbers, what the request would have done. Its text is that of Err.
type Effect struct {
	Err     error
	Numbers map[string]int64
}

// Error gives the text of the fault.
func (e *Effect) Error() string { return e.Err.Error() }

// Unwrap gives the fault.
func (e *Effect) Unwrap() error { return e.Err }

// Of gives the problem that an error is answered with. An error that is no fault, or has an unknown code, is
// ErrInternal, so that no cause is ever shown.
func Of(err error) Problem {
	var f *fault.Error
	if !errors.As(err, &f) {
		f = ErrInternal
	}
	k, ok := table[f.Code]
	if !ok {
		f, k = ErrInternal, table[ErrInternal.Code]
	}
	p := Problem{
		Type:  "https://github.com/sluicehq/sluice/blob/main/docs/errors.md#" + f.Code,
		Title: k.title, Status: k.status, Detail: f.Detail, Code: f.Code,
	}
	var e *Effect
	if errors.As(err, &e) {
		p.Effect = e.Numbers
	}
	return p
}

// CodeOf is the code of the problem that a request was answered with, "" where it was not.
func CodeOf(c *gin.Context) string { return c.GetString(codeKey) }

// Handle makes a gin handler of one that returns its error. It alone answers the error and logs it, once.
func Handle(h func(*gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := h(c); err != nil {
			Answer(c, err)
		}
	}
}

// Answer ends a request with an error. Where the answer has begun already (a stream), it is only logged.
func Answer(c *gin.Context, err error) {
	c.Abort()
	if p, there := Note(c, err); there {
		write(c, p)
	}
}

// Note logs an error, once, and gives the problem that it is answered with; false where the caller has gone.
func Note(c *gin.Context, err error) (Problem, bool) {
	ctx := c.Request.Context()
	log := logger(c)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		log.DebugContext(ctx, "caller has gone", "err", err)
		return Problem{}, false
	}
	p := Of(err)
	level := slog.LevelError
	if table[p.Code].quiet {
		level = slog.LevelDebug
	}
	if log.Enabled(ctx, level) {
		log.LogAttrs(ctx, level, "request failed", slog.String("code", p.Code), slog.String("err", err.Error()),
			slog.String("method", c.Request.Method), slog.String("route", cmp.Or(c.FullPath(), "none")), slog.String("request_id", c.Writer.Header().Get(RequestIDHeader)))
	}
	c.Set(codeKey, p.Code)
	return p, true
}

// write sends the problem, unless an answer has begun.
func write(c *gin.Context, p Problem) {
	c.Set(codeKey, p.Code) // also of a panic, which nobody notes
	if c.Writer.Written() {
		return
	}
	h := c.Writer.Header()
	h.Set("Content-Type", ContentType)
	h.Set("Cache-Control", "no-store")
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="sluice"`)
	}
	body, _ := json.Marshal(p) // strings and numbers: cannot fail
	c.Writer.WriteHeader(p.Status)
	c.Writer.Write(body)
}
