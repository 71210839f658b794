package page

import (
	"slices"

	"github.com/sluicehq/sluice/internal/locale"
)

// ErrorData is what the page says to a visitor whom the site could not let in.
type ErrorData struct {
	Words *locale.Words
	Nonce string // of the page's one style
	Why   string // what was wrong, in plain words
	Known bool   // it is one of the reasons that sites give
	Again string // the address that lines up again
}

// Error chooses the words for the code that the site gave.
func (p *Pages) Error(asked, accept, code string) *ErrorData {
	d := &ErrorData{Words: p.Choose(asked, accept), Known: slices.Contains(errorCodes, code)}
	switch {
	case !d.Known:
		code = "unknown"
	case code == "hash":
		code = "changed" // hash is a word of message files themselves
	}
	d.Why = d.Words.Text("error." + code)
	return d
}

// errorCodes are those of connectors made for Queue-it.
var errorCodes = []string{"hash", "eventid", "timestamp", "ip", "qidlimit"}

// Policy is the content security policy that the page needs.
func (d *ErrorData) Policy() string {
	return "default-src 'none'; style-src 'nonce-" + d.Nonce + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
