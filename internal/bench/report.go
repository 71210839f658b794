package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// Report is what one case came to.
type Report struct {
	Case    string  `json:"case"`
	Short   bool    `json:"short"`
	Seconds float64 `json:"seconds"`
	Rows    []Row   `json:"rows"`
	Charts  []Chart `json:"charts,omitempty"` // what docs/benchmarks.md draws
}

// Row is one measured thing.
type Row struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Bound string  `json:"bound"` // "" = for information
	OK    bool    `json:"ok"`
}

// OK reports whether everything held.
func (r Report) OK() bool {
	for _, row := range r.Rows {
		if !row.OK {
			return false
		}
	}
	return len(r.Rows) > 0
}

func (r *Report) note(name string, value float64, unit string) {
	r.Rows = append(r.Rows, Row{Name: name, Value: value, Unit: unit, OK: true})
}

func (r *Report) atMost(name string, value, most float64, unit string) {
	r.Rows = append(r.Rows, Row{Name: name, Value: value, Unit: unit, Bound: "≤ " + number(most), OK: value <= most})
}

func (r *Report) between(name string, value, least, most float64, unit string) {
	bound := number(least)
	if least != most {
		bound += " … " + number(most)
	}
	r.Rows = append(r.Rows, Row{Name: name, Value: value, Unit: unit, Bound: bound, OK: least <= value && value <= most})
}

// Table writes the report for people.
func (r Report) Table(w io.Writer) error {
	form := ""
	if r.Short {
		form = " (short)"
	}
	fmt.Fprintf(w, "%s%s, %.0f s\n", r.Case, form, r.Seconds)
	t := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	for _, row := range r.Rows {
		mark := "ok"
		switch {
		case !row.OK:
			mark = "MISSED"
		case row.Bound == "":
			mark = ""
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\n", row.Name, number(row.Value), row.Unit, row.Bound, mark)
	}
	return t.Flush()
}

// JSON writes the report for programs, one line.
func (r Report) JSON(w io.Writer) error {
	return json.NewEncoder(w).Encode(struct {
		Report
		OK bool `json:"ok"`
	}{r, r.OK()})
}

// number writes whole numbers plainly and others with what can be told apart.
func number(x float64) string {
	if x == float64(int64(x)) {
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}
