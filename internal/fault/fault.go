// Package fault gives errors that carry a stable word and a sentence for the caller, apart from the cause that only
// the log may see.
package fault

import "errors"

// Error is a refusal or a failure that a caller may be told about.
type Error struct {
	Code   string // stable, machine-readable, snake_case; decides the HTTP status (internal/problem)
	Detail string // one or two sentences for the caller; never a secret, a path, a Redis or SQL message
	Err    error  // the cause, for the log only; may be nil
}

// New returns an Error without a cause, for package-level sentinels.
func New(code, detail string) *Error { return &Error{Code: code, Detail: detail} }

// Error gives the detail and the cause, for logs.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Code + ": " + e.Detail + ": " + e.Err.Error()
	}
	return e.Code + ": " + e.Detail
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is a fault of the same code, so that errors.Is finds a sentinel whatever its detail.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// With returns a copy of e with another detail.
func (e *Error) With(detail string) *Error { return &Error{Code: e.Code, Detail: detail, Err: e.Err} }

// Because returns a copy of e with a cause for the log.
func (e *Error) Because(err error) *Error { return &Error{Code: e.Code, Detail: e.Detail, Err: err} }

// Code gives the code of the first Error in err's chain, "" where there is none.
func Code(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
