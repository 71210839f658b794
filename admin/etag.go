package admin

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/sluicehq/sluice/internal/fault"
)

var errStale = fault.New("stale_etag", "It has changed since you read it. Read it again, then write.")

// ETag names the content of a policy or a sale, so that all nodes agree and a write that changes nothing keeps it.
func ETag(v any) string {
	sum := sha256.Sum256([]byte(jsonText(v)))
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

// ifMatch checks the lines of If-Match (RFC 9110, 13.1.1): errStale where there are any and they name neither what
// is there nor, by *, anything that exists. The comparison is strong: a weak tag matches nothing. Without lines every write
// goes through.
func ifMatch(lines []string, now any, exists bool) error {
	if len(lines) == 0 {
		return nil
	}
	if exists {
		have := ETag(now)
		for _, tag := range strings.Split(strings.Join(lines, ","), ",") {
			if tag = strings.TrimSpace(tag); tag == have || tag == "*" {
				return nil
			}
		}
	}
	return errStale
}
