package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rush is 510 people at one item within a second.
func rush() string {
	var b strings.Builder
	b.WriteString("t_ms,visitor,item\n")
	for i := range 510 {
		fmt.Fprintf(&b, "%d,v%d,sku-1\n", 1_800_000_000_000+i, i)
	}
	return b.String()
}

func gzipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(s))
	z.Close()
	return b.String()
}

func TestReplay(t *testing.T) {
	t.Parallel()
	const inflow = "--set=inflow_per_second=5"
	long := rush() + strings.Repeat("x\n", 30)
	for _, c := range []struct {
		name, in string
		flags    []string
		code     int
		says     string // in standard output or the error
	}{
		{"a rush", rush(), nil, 0, "1 queues would have turned on, at 1 items"},
		{"a rush in JSON", rush(), []string{"--json"}, 0, `"peak_count": 510`},
		{"gzipped, with BOM and CRLF", gzipped("\xef\xbb\xbf" + strings.ReplaceAll(rush(), "\n", "\r\n")), nil, 0, "1 queues"},
		{"a trigger that it misses", rush(), []string{"--set", "trigger_requests=511"}, 0, "No queue would have turned on."},
		{"a slower inflow", rush(), []string{inflow, "--json"}, 0, `"max": 2190`},
		{"a file that was cut off", gzipped(rush())[:len(gzipped(rush()))-12], nil, 0, "the gzip data is cut off here"},
		{"bad lines", rush() + "1,2\n-1,a,x\n", nil, 0, "line 513: t_ms is negative"},
		{"more bad lines than are named", long, nil, 0, "30 lines skipped"},
		{"an empty file", "", nil, 1, "it is empty"},
		{"no header", "1,a,x\n2,a,x\n", nil, 1, "the header t_ms,visitor,item is missing"},
		{"an unknown field", rush(), []string{"--set", "triger=1"}, 1, "triger is not a field that is known here"},
		{"a field out of range", rush(), []string{"--set", "trigger_requests=0"}, 1, "trigger_requests must be"},
		{"a share that is none", rush(), []string{"--leave-share=1.5"}, 1, "--leave-share 1.5"},
		{"a bad item pattern", rush(), []string{"--item-pattern=/x"}, 1, "item pattern"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "trace")
			if err := os.WriteFile(path, []byte(c.in), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			code := run(append([]string{"replay", path}, c.flags...), nil, &out, &errs)
			if all := out.String() + errs.String(); code != c.code || !strings.Contains(all, c.says) {
				t.Errorf("exit %d, want %d and %q:\n%s", code, c.code, c.says, all)
			}
			if n := strings.Count(errs.String(), path+": line "); n > 21 {
				t.Errorf("%d lines are named", n)
			}
			if len(c.flags) > 0 && c.flags[len(c.flags)-1] == "--json" && !json.Valid(out.Bytes()) {
				t.Errorf("no JSON: %s", &out)
			}
		})
	}
}

func TestProgressIsOneLineOnATerminal(t *testing.T) {
	t.Parallel()
	var screen bytes.Buffer
	p := &progress{to: &screen}
	p.line("%d of %d", 1, 9)
	p.line("%d of %d", 2, 9) // too soon after the last
	p.clear()
	p.clear()
	if got, want := screen.String(), "\r\x1b[K1 of 9\r\x1b[K"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if quiet := newProgress(&screen); quiet.to != nil {
		t.Error("a file is taken for a terminal")
	}
}
