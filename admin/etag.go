package admin

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
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
// is there nor, by *, anything that exists. The comparison is strong: a weak tag matches nothing. Without lines every
// write goes through.
func ifMatch(lines []string, now any, exists bool) error {
	if len(lines) == 0 {
		return nil
	}
	field := strings.Join(lines, ",")
	if exists && (strings.Trim(field, " \t") == "*" || slices.Contains(strongTags(field), ETag(now))) {
		return nil
	}
	return errStale
}

// strongTags lists the strong entity tags of a list, as they are written (RFC 9110, 8.8.3): a comma inside the quotes
// belongs to the tag. What cannot be read, and all that follows it, names nothing.
func strongTags(list string) (tags []string) {
	for {
		list = strings.TrimLeft(list, " \t,")
		rest, weak := strings.CutPrefix(list, "W/")
		inside, opened := strings.CutPrefix(rest, `"`)
		end := strings.IndexByte(inside, '"')
		if !opened || end < 0 {
			return tags
		}
		if !weak {
			tags = append(tags, rest[:end+2])
		}
		list = strings.TrimLeft(inside[end+1:], " \t")
		if list != "" && list[0] != ',' {
			return tags
		}
	}
}
