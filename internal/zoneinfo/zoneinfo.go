// Package zoneinfo is the IANA time zone database as this program carries it. The machine's own copy is not asked: nodes
// with copies of different years would open one sale at different instants, and an empty container has none.
package zoneinfo

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// archive is lib/time/zoneinfo.zip of the Go distribution.
//
//go:embed zoneinfo.zip
var archive []byte

var files = sync.OnceValue(func() map[string]*zip.File {
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		panic(err) // embedded: cannot be broken in a program that was built
	}
	all := map[string]*zip.File{}
	for _, f := range r.File {
		if !f.FileInfo().IsDir() && f.Name != "Factory" { // the name of a clock that nobody has set
			all[f.Name] = f
		}
	}
	return all
})

// Load gives a zone by its IANA name, in exactly the letters of the database.
func Load(name string) (*time.Location, error) {
	if known, ok := loaded.Load(name); ok {
		return known.(*time.Location), nil
	}
	f, ok := files()[name]
	if !ok {
		return nil, fmt.Errorf("time zone %q is not in the IANA database", name)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("time zone %s: %w", name, err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("time zone %s: %w", name, err)
	}
	zone, err := time.LoadLocationFromTZData(name, data)
	if err != nil {
		return nil, fmt.Errorf("time zone %s: %w", name, err)
	}
	kept, _ := loaded.LoadOrStore(name, zone)
	return kept.(*time.Location), nil
}

// loaded are the zones read so far; there are some six hundred.
var loaded sync.Map

// Names lists all zones in text order.
func Names() []string {
	names := make([]string, 0, len(files()))
	for name := range files() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
