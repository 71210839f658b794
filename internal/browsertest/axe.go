package browsertest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed axe-core-4.14.1.min.js
var axe string

// violation is what axe found.
type violation struct {
	ID, Impact, Help string
	Nodes            []struct {
		HTML           string `json:"html"`
		FailureSummary string `json:"failureSummary"`
	}
}

// Accessible fails the test where axe-core finds a violation of WCAG 2.2, levels A and AA, or of good practice.
func (p *Page) Accessible() {
	p.tb.Helper()
	p.axe(`{resultTypes: ["violations"]}`)
}

// Readable fails the test where axe-core finds too little contrast: what another scheme of colours may change of a page
// that is Accessible in one.
func (p *Page) Readable() {
	p.tb.Helper()
	p.axe(`{resultTypes: ["violations"], runOnly: ["color-contrast"]}`)
}

func (p *Page) axe(options string) {
	p.tb.Helper()
	// Evaluated by the debugger, which the page's content security policy does not concern.
	if !Evaluate[bool](p, "typeof axe === 'object'") {
		Evaluate[bool](p, axe+";true")
	}
	found := Evaluate[string](p, `axe.run(document, `+options+`).then(r => JSON.stringify(r.violations))`)
	var violations []violation
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		p.tb.Fatalf("browsertest: axe: %v", err)
	}
	for _, v := range violations {
		var where strings.Builder
		for _, n := range v.Nodes {
			fmt.Fprintf(&where, "\n\t%s\n\t\t%s", n.HTML, strings.ReplaceAll(n.FailureSummary, "\n", "\n\t\t"))
		}
		p.tb.Errorf("axe at %s: %s (%s): %s%s", p.At(), v.ID, v.Impact, v.Help, where.String())
	}
}
