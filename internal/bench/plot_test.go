package bench

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestChartsAreDrawnAsBefore(t *testing.T) {
	t.Parallel()
	for _, c := range []Chart{
		{Name: "log", Title: "p99 <against> people", X: "people waiting", Y: "ms", LogX: true, Series: []Line{
			{Name: "join", Points: [][2]float64{{1_000, 2}, {10_000, 2.5}, {100_000, 2.25}, {1_000_000, 3}}},
			{Name: "status & co", Points: [][2]float64{{1_000, 1}, {1_000_000, 1.1}}},
		}},
		{Name: "steps", Title: "Let in", X: "s", Y: "people per second", Series: []Line{
			{Name: "set", Steps: true, Points: [][2]float64{{0, 50}, {60, 200}, {70, 0.5}, {90, 0.5}}},
			{Name: "measured", Points: [][2]float64{{0, 0}, {30, 51}, {60, 49}, {65, 201}, {90, 0}}},
		}},
		{Name: "empty", Title: "Nothing", X: "x", Y: "y"},
	} {
		var svg bytes.Buffer
		if err := c.SVG(&svg); err != nil {
			t.Fatal(err)
		}
		wellFormed(t, svg.Bytes())
		golden(t, "chart-"+c.Name+".svg", svg.Bytes())
	}
}

func wellFormed(t *testing.T, b []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(b))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not as it was (%v); -update writes it anew. Now:\n%s", file, err, got)
	}
}

func TestAxesHaveRoundNumbers(t *testing.T) {
	t.Parallel()
	for top, want := range map[float64]int{1: 5, 1.9: 9, 2: 4, 4.9: 9, 5: 5, 9.9: 9, 12_345: 6, 99_999: 9} {
		if got := ticks(top); len(got) != want+1 || got[0] != 0 {
			t.Errorf("%v: %v", top, got)
		}
	}
	for v, want := range map[float64]string{0: "0", 0.25: "0.25", 12: "12", 1_000: "1 k", 12_500: "12.5 k", 1e6: "1 M"} {
		if got := short(v); got != want {
			t.Errorf("%v: %s, not %s", v, got, want)
		}
	}
}

func TestThePageIsMadeOfTheLastResults(t *testing.T) {
	t.Parallel()
	first := Report{Case: "join", Rows: []Row{{Name: "ratio", Value: 0.5, Unit: "×", Bound: "≥ 0.6"}}}
	again := Report{Case: "join", Seconds: 27, Rows: []Row{{Name: "ratio", Value: 0.7, Unit: "×", Bound: "≥ 0.6", OK: true}},
		Charts: []Chart{{Name: "curve", Title: "A curve"}}}
	off := Report{Case: "check-off", Rows: []Row{{Name: "ratio", Value: 0.9, Unit: "×", Bound: "≥ 0.97"}}}
	var results bytes.Buffer
	for _, r := range []Report{first, again, off} {
		if err := r.JSON(&results); err != nil {
			t.Fatal(err)
		}
	}
	reports, err := ReadReports(&results)
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "page.md")
	text := "before\n" + pageBegin + "\noutdated\n" + pageEnd + "\nafter\n"
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // twice gives the same
		if err := WritePage(page, "bench", reports); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	got := string(raw)
	for _, part := range []string{"before\n", "after\n", "| ratio | 0.7 | × | ≥ 0.6 | ok |", "| ratio | 0.9 | × | ≥ 0.97 | **missed** |", "![A curve](bench/curve.svg)"} {
		if strings.Count(got, part) != 1 {
			t.Errorf("%d times %q in\n%s", strings.Count(got, part), part, got)
		}
	}
	if strings.Contains(got, "outdated") || strings.Contains(got, "0.5") || strings.Index(got, "check-off") > strings.Index(got, "### join") {
		t.Errorf("not what was to be\n%s", got)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(page), "bench", "curve.svg")); err != nil {
		t.Error(err)
	}
	if err := WritePage(filepath.Join(filepath.Dir(page), "bench", "curve.svg"), "bench", reports); err == nil {
		t.Error("a page without a place for figures was written")
	}
}
