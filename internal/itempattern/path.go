package itempattern

import (
	"strings"
	"unicode/utf8"
)

// target cuts a request target down to its path as written: no scheme and host, no query, no fragment.
func target(uri string) string {
	if i := strings.IndexAny(uri, "?#"); i >= 0 {
		uri = uri[:i]
	}
	if i := strings.Index(uri, "://"); i > 0 && !strings.Contains(uri[:i], "/") {
		uri = uri[i+3:]
		if i := strings.IndexAny(uri, `/\`); i >= 0 {
			return uri[i:]
		}
		return ""
	}
	return uri
}

// clean decodes a path once and resolves its segments: "/a/b", "" for the root. Parameters go before dot segments do,
// because servers that know parameters read `..;x` as `..`.
func clean(path string) string {
	if plain(path) {
		return strings.TrimSuffix(path, "/")
	}
	path = strings.ReplaceAll(decode(path), `\`, "/")
	var kept []string
	for segment := range strings.SplitSeq(path, "/") {
		segment, _, _ = strings.Cut(segment, ";")
		switch segment {
		case "", ".":
		case "..":
			if len(kept) > 0 {
				kept = kept[:len(kept)-1]
			}
		default:
			kept = append(kept, segment)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return "/" + strings.Join(kept, "/")
}

// plain reports whether a path is in its clean form but for a slash at the end.
func plain(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	for i := range len(path) {
		switch path[i] {
		case '%', '\\', ';':
			return false
		case '.', '/':
			if i > 0 && path[i-1] == '/' {
				return false
			}
		}
	}
	return true
}

// decode undoes one percent-encoding; what is no encoding stays as it is.
func decode(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if hi, lo := unhex(s[i+1]), unhex(s[i+2]); hi >= 0 && lo >= 0 {
				b = append(b, byte(hi<<4|lo))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// lower folds the case of all letters where the text is UTF-8, else of the ASCII ones: a byte that is no letter must
// stay what it is, or two pages would become one item.
func lower(s string) string {
	if utf8.ValidString(s) {
		return strings.ToLower(s)
	}
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// segments splits a clean path.
func segments(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(path[1:], "/")
}

// next takes the first segment off a clean path.
func next(path string) (segment, rest string) {
	if path == "" {
		return "", ""
	}
	path = path[1:]
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}
