package redisline_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Each script's header names the keys and arguments that it takes; this holds the two together.
func TestScriptHeaders(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("lua/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	files = append(files, "../../detector/redistraffic/count.lua")
	for _, file := range files {
		name := filepath.Base(file)
		if name == "prelude.lua" || name == "windows.lua" || name == "turns.lua" || name == "mends.lua" || name == "story.lua" {
			continue // parts of the others
		}
		t.Run(name+" says which keys and arguments it takes", func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			head, body := split(string(b))
			if !strings.HasPrefix(head, "-- "+name+": ") {
				t.Errorf("the first line is not %q and what the script does", "-- "+name+": …")
			}
			for _, word := range []string{"-- Returns  ", "-- Cost     ", "-- Why one script: "} {
				if !strings.Contains(head, word) {
					t.Errorf("no line %q", word)
				}
			}
			for _, kind := range []string{"KEYS", "ARGV"} {
				last := 0
				for _, m := range regexp.MustCompile(kind+`\[(\d+)\]`).FindAllStringSubmatch(body, -1) {
					n, _ := strconv.Atoi(m[1])
					last = max(last, n)
					if !named(head, kind, n) {
						t.Errorf("%s[%d] is used and not named", kind, n)
					}
				}
				for _, m := range regexp.MustCompile(`(?m)^-- `+kind+`\[(\d+)\]`).FindAllStringSubmatch(head, -1) {
					if n, _ := strconv.Atoi(m[1]); !strings.Contains(body, kind+"["+m[1]+"]") && n > last+1 {
						t.Errorf("%s[%d] is named and not used", kind, n)
					}
				}
			}
			if strings.Contains(body, "tostring(") {
				t.Errorf("tostring loses the last digits of 16-digit numbers: use string.format") // B028
			}
		})
	}
}

// split parts the comment at the top from the rest.
func split(text string) (head, body string) {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "--") {
			return strings.Join(lines[:i], ""), strings.Join(lines[i:], "")
		}
	}
	return text, ""
}

// named reports whether a header names an argument, alone or in a range such as ARGV[4..] or KEYS[1..11].
func named(head, kind string, n int) bool {
	if strings.Contains(head, kind+"["+strconv.Itoa(n)+"]") {
		return true
	}
	for _, m := range regexp.MustCompile(kind+`\[(\d+)\.\.(\d*)\]`).FindAllStringSubmatch(head, -1) {
		from, _ := strconv.Atoi(m[1])
		to, err := strconv.Atoi(m[2])
		if n >= from && (err != nil || n <= to) {
			return true
		}
	}
	return false
}
