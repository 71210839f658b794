package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The generated part of a page stands between these lines.
const (
	pageBegin = "<!-- figures: made by sluice bench report -->"
	pageEnd   = "<!-- end of figures -->"
)

// ReadReports reads what --json wrote, a report to a line. The last of each case counts; they come in the cases' order.
func ReadReports(r io.Reader) ([]Report, error) {
	last := map[string]Report{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var one Report
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("result of a benchmark: %w", err)
		}
		last[one.Case] = one
	}
	var reports []Report
	for _, name := range Names() {
		if one, ok := last[name]; ok {
			reports = append(reports, one)
		}
	}
	return reports, lines.Err()
}

// Markdown writes the figures as tables, with links to the plots in a folder beside the page.
func Markdown(w io.Writer, reports []Report, plots string) error {
	var b strings.Builder
	help := map[string]string{}
	for _, c := range Cases() {
		help[c.Name] = c.Help
	}
	for _, r := range reports {
		form := ""
		if r.Short {
			form = ", short form"
		}
		fmt.Fprintf(&b, "### %s\n\n%s (%.0f s%s).\n\n| what | figure | unit | to hold | |\n| --- | ---: | --- | --- | --- |\n", r.Case, help[r.Case], r.Seconds, form)
		for _, row := range r.Rows {
			mark := ""
			switch {
			case !row.OK:
				mark = "**missed**"
			case row.Bound != "":
				mark = "ok"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", row.Name, number(row.Value), row.Unit, row.Bound, mark)
		}
		b.WriteString("\n")
		for _, c := range r.Charts {
			fmt.Fprintf(&b, "![%s](%s/%s.svg)\n\n", c.Title, plots, c.Name)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WritePage puts the figures into a page, between the lines that are there for them, and draws the plots into the
// folder plots beside it.
func WritePage(page, plots string, reports []Report) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	begin, end := bytes.Index(text, []byte(pageBegin)), bytes.Index(text, []byte(pageEnd))
	if begin < 0 || end < begin {
		return errors.New(page + " has no place for figures: the lines " + pageBegin + " and " + pageEnd)
	}
	folder := filepath.Join(filepath.Dir(page), plots)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, r := range reports {
		for _, c := range r.Charts {
			var svg bytes.Buffer
			if err := c.SVG(&svg); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(folder, c.Name+".svg"), svg.Bytes(), 0o644); err != nil {
				return err
			}
		}
	}
	var figures bytes.Buffer
	if err := Markdown(&figures, reports, plots); err != nil {
		return err
	}
	out := slices.Concat(text[:begin], []byte(pageBegin+"\n\n"), figures.Bytes(), text[end:])
	return os.WriteFile(page, out, 0o644)
}
