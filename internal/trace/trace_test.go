package trace

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/internal/itempattern"
)

// show writes a trace as `ms visitor item` separated by `; `.
func show(t *Trace) string {
	var lines []string
	for _, e := range t.Events {
		lines = append(lines, fmt.Sprintf("%d %s %s", e.MS, t.Visitors[e.Visitor], t.Items[e.Item]))
	}
	return strings.Join(lines, "; ")
}

func problems(t *Trace) string {
	var lines []string
	for _, p := range t.Problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "; ")
}

func zip(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(s))
	z.Close()
	return b.String()
}

const (
	header = "t_ms,visitor,item\n"
	start  = `v1 - - [01/Aug/1995:02:00:00 -0400] "GET /a HTTP/1.0" 200 17` + "\n"
)

func TestRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want, problems string }{
		{"CSV", header + "1,a,x\n2,b,y\n", "1 a x; 2 b y", ""},
		{"CSV without a line end", header + "1,a,x", "1 a x", ""},
		{"CSV with CRLF", "t_ms,visitor,item\r\n1,a,x\r\n", "1 a x", ""},
		{"CSV with a BOM", "\xef\xbb\xbf" + header + "1,a,x\n", "1 a x", ""},
		{"CSV with blank lines", "\n" + header + "\n1,a,x\n\n", "1 a x", ""},
		{"CSV with quotes", header + `1,"a,b","x"` + "\n", "1 a,b x", ""},
		{"gzipped CSV", zip(header + "1,a,x\n"), "1 a x", ""},
		{"gzipped with a BOM inside", zip("\xef\xbb\xbf" + header + "1,a,x\n"), "1 a x", ""},
		{"two gzip members in one file", zip(header+"1,a,x\n") + zip("2,b,y\n"), "1 a x; 2 b y", ""},
		{"out of order is put in order, equals as they stand", header + "3,a,x\n1,b,x\n3,c,x\n1,d,x\n2,e,x\n", "1 b x; 1 d x; 2 e x; 3 a x; 3 c x", ""},
		{"only a header", header, "", ""},
		{"an empty file", "", "", "in: it is empty"},
		{"an empty gzip file", zip(""), "", "in: it is empty"},

		{"a negative time", header + "-5,a,x\n1,a,x\n", "1 a x", "in: line 2: t_ms is negative"},
		{"a huge time", header + "99999999999999999999999,a,x\n253402300799999,a,x\n253402300800000,a,x", "253402300799999 a x",
			"in: line 2: t_ms is beyond the year 9999; in: line 4: t_ms is beyond the year 9999"},
		{"a time that is none", header + "1.5,a,x\n,a,x\n1e3,a,x", "", "in: line 2: t_ms is no whole number of ms since 1970; in: line 3: t_ms is no whole number of ms since 1970; in: line 4: t_ms is no whole number of ms since 1970"},
		{"too few fields", header + "1,a\n1\n", "", "in: line 2: it must have three fields: t_ms,visitor,item; in: line 3: it must have three fields: t_ms,visitor,item"},
		{"too many fields", header + "1,a,x,y\n", "", "in: line 2: it must have three fields: t_ms,visitor,item"},
		{"open quotes", header + "1,\"a,x\n", "", "in: line 2: its quotes do not close"},
		{"a bad item", header + "1,a,x y\n1,a,\n", "", "in: line 2: the item must be 1 to 128 characters of A-Z a-z 0-9 . _ ~ : @ -; in: line 3: the item must be 1 to 128 characters of A-Z a-z 0-9 . _ ~ : @ -"},
		{"a bad visitor", header + "1,,x\n", "", "in: line 2: the visitor must have 1 to 256 bytes"},
		{"a long line", header + "1," + strings.Repeat("a", 70_000) + ",x\n2,b,x\n", "2 b x", "in: line 2: it is longer than 64 KiB"},
		{"a long line at the end", header + "1," + strings.Repeat("a", 70_000), "", "in: line 2: it is longer than 64 KiB"},

		{"common log", start, "807256800000 v1 ~2Fa", ""},
		{"combined log with a query", `1.2.3.4 - bob [29/Feb/2024:23:59:59 +0530] "POST /b/c?d=1#e HTTP/2.0" 302 - "-" "Mozilla \"x\""`,
			"1709231399000 1.2.3.4 ~2Fb~2Fc", ""},
		{"a log with an escaped quote in its path", `v1 - - [01/Aug/1995:02:00:00 -0400] "GET /a\"b HTTP/1.0" 200 17`, "807256800000 v1 ~2Fa~5C~22b", ""},
		{"a log that begins in the middle of a line", "HTTP/1.0\" 200 17\n" + start, "807256800000 v1 ~2Fa", "in: line 1: it has no [time] as in [01/Aug/1995:02:00:00 -0400]"},
		{"log lines that are none", start + "x\n" +
			`v1 - - [31/Feb/1995:02:00:00 -0400] "GET /a HTTP/1.0" 200 17` + "\n" +
			`v1 - - [01/Aug/1969:02:00:00 -0400] "GET /a HTTP/1.0" 200 17` + "\n" +
			`v1 - - [01/Aug/1995:02:00:00 -0400] "-" 408 0` + "\n" +
			`v1 - - [01/Aug/1995:02:00:00 -0400] "GET /a` + "\n" +
			`v1 - - [01/Aug/1995:02:00:00 -0400] "GET ?q HTTP/1.0" 200 17` + "\n" +
			`v1 - - [01/Aug/1995:02:00:00 -0400] "GET /a HTTP/1.0" - 17` + "\n", "807256800000 v1 ~2Fa",
			"in: line 2: it is no line of an access log; in: line 3: its [time] does not exist; in: line 4: its [time] is before 1970; in: line 5: its request is not METHOD target; " +
				"in: line 6: it has no request in quotes; in: line 7: its request has no path; in: line 8: it has no status behind the request"},
		{"a log under patterns", strings.ReplaceAll(start, "/a", "/Product/A"), "807256800000 v1 a", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			patterns, err := itempattern.ParseAll([]string{"/product/{item}"})
			if err != nil {
				t.Fatal(err)
			}
			got, err := ReadFrom("in", strings.NewReader(c.in), Options{Patterns: patterns})
			if err != nil {
				t.Fatal(err)
			}
			if show(got) != c.want {
				t.Errorf("events %q, want %q", show(got), c.want)
			}
			if problems(got) != c.problems {
				t.Errorf("problems %q, want %q", problems(got), c.problems)
			}
		})
	}
}

func TestReadRefusesWhatIsNoTrace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, why string }{
		{"a CSV without its header", "1,a,x\n2,b,x\n", "line 1: the header t_ms,visitor,item is missing"},
		{"a CSV with another header", "time,user,page\n1,a,x\n", "line 1: the header t_ms,visitor,item is missing"},
		{"text", "hello\nworld\n", "neither the header t_ms,visitor,item nor a line of an access log"},
		{"a broken gzip header", "\x1f\x8b\x00\x00", "the gzip header cannot be read"},
		{"gzip data that is damaged", zip(header + strings.Repeat("1,a,x\n", 9999))[:60] + strings.Repeat("\xff", 90), "line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := ReadFrom("in", strings.NewReader(c.in), Options{})
			if err == nil || !strings.HasPrefix(err.Error(), "in: ") || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%v; want %q", err, c.why)
			}
		})
	}
}

func TestACutGzipIsUsedUpToTheCut(t *testing.T) {
	t.Parallel()
	var csv strings.Builder
	csv.WriteString(header)
	for i := range 50_000 {
		fmt.Fprintf(&csv, "%d,v%d,x\n", i, i*7919%50_000)
	}
	whole := zip(csv.String())
	got, err := ReadFrom("in", strings.NewReader(whole[:len(whole)/2]), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(got.Events); n < 1000 || n > 49_000 || got.Skipped != 1 {
		t.Errorf("%d events, %d skipped", n, got.Skipped)
	}
	if want := fmt.Sprintf("in: line %d: the gzip data is cut off here", len(got.Events)+2); !strings.HasPrefix(problems(got), want) {
		t.Errorf("%q, want %q", problems(got), want)
	}
}

func TestAtMostTwentyLinesOfAFileAreNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"a", "b"} {
		paths = append(paths, filepath.Join(dir, name))
		if err := os.WriteFile(paths[len(paths)-1], []byte(header+strings.Repeat("x\n", 30)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read(paths, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Problems) != 40 || got.Skipped != 60 {
		t.Errorf("%d named, %d skipped", len(got.Problems), got.Skipped)
	}
}

func TestSeveralFilesAreOneStream(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := map[string]string{"b.csv": header + "1,a,x\n5,b,x\n", "a.csv": header + "1,c,x\n3,d,y\n5,e,x\n"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read([]string{filepath.Join(dir, "b.csv"), filepath.Join(dir, "a.csv")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := "1 a x; 1 c x; 3 d y; 5 b x; 5 e x"; show(got) != want {
		t.Errorf("%q, want %q", show(got), want)
	}
	if _, err := Read([]string{filepath.Join(dir, "none.csv")}, Options{}); err == nil {
		t.Error("a missing file is no error")
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{header + "1,a,x\n", start, "\xef\xbb\xbf" + header, zip(start), header + "-1,\"a\"\"\",x\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := ReadFrom("in", bytes.NewReader(in), Options{})
		if err != nil {
			return
		}
		if !slices.IsSortedFunc(got.Events, func(a, b Event) int { return int(a.MS - b.MS) }) {
			t.Error("out of order")
		}
		for _, e := range got.Events {
			if e.MS < 0 || e.MS > latestMS || int(e.Visitor) >= len(got.Visitors) || int(e.Item) >= len(got.Items) {
				t.Errorf("%+v", e)
			}
		}
	})
}

func BenchmarkReadCSV(b *testing.B) {
	var csv bytes.Buffer
	csv.WriteString(header)
	for i := range 200_000 {
		fmt.Fprintf(&csv, "%d,v%06d,u%d\n", 1341101181000+i*17, i*7919%100_000, i%5000)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadFrom("in", bytes.NewReader(csv.Bytes()), Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(200_000*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
