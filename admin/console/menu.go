package console

import "github.com/sluicehq/sluice/internal/sqlstore"

// menuEntry is one line of the menu.
type menuEntry struct {
	Href, Label string
	Current     bool
}

// sections are the lines of the menu, with the role that each needs.
var sections = []struct {
	name, path string
	least      sqlstore.Role
}{
	{"items", "/", sqlstore.Viewer},
	{"sales", "/sales", sqlstore.Viewer},
	{"policies", "/policies", sqlstore.Viewer},
	{"switch", "/switch", sqlstore.Viewer},
	{"history", "/history", sqlstore.Viewer},
	{"audit", "/audit", sqlstore.Viewer},
	{"webhooks", "/webhooks", sqlstore.Operator},
	{"integrate", "/integrate", sqlstore.Viewer},
	{"people", "/people", sqlstore.Admin},
}

// Menu lists what the reader may open.
func (p *page) Menu() []menuEntry {
	var menu []menuEntry
	for _, s := range sections {
		if p.Who.May(s.least) {
			menu = append(menu, menuEntry{base + s.path, p.Text("menu." + s.name), p.Section == s.name})
		}
	}
	return menu
}

// States are the choices of the overview's filter.
func (p *page) States() []string { return states }

// Int64 widens a number for Count.
func (p *page) Int64(n int) int64 { return int64(n) }

// Add adds.
func (p *page) Add(a, b int) int { return a + b }

// Percent is a share as a number from 0 to 100.
func (p *page) Percent(share float64) float64 { return min(100, max(0, share*100)) }

// Times multiplies.
func (p *page) Times(n int64, by float64) float64 { return float64(n) * by }
