package archtest

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/licences.md anew")

// licences are those that may be in the program, each with words that no other of them has, in the order in which they are looked for.
var licences = []struct {
	name  string
	words *regexp.Regexp
}{
	{"MPL-2.0", regexp.MustCompile(`Mozilla Public License,? [Vv]ersion 2\.0`)},
	{"Apache-2.0", regexp.MustCompile(`Apache License\s+Version 2\.0`)},
	{"BSD-3-Clause", regexp.MustCompile(`Redistribution and use in source and binary forms[\s\S]*(Neither the name|names? of (its|the|any) )`)},
	{"BSD-2-Clause", regexp.MustCompile(`Redistribution and use in source and binary forms`)},
	{"ISC", regexp.MustCompile(`Permission to use, copy, modify, and(/or)? distribute this software`)},
	{"MIT", regexp.MustCompile(`Permission is hereby granted, free of charge`)},
	{"Unlicense", regexp.MustCompile(`This is free and unencumbered software`)},
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)(\.(md|txt|mit))?$`)

// TestLicences holds docs/licences.md to the modules whose packages are in the program: each has a licence that we know.
func TestLicences(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=Module", "./cmd/...", "./pass/...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	dirs := map[string]string{} // by module
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			Module *struct {
				Path, Dir string
				Main      bool
			}
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Module != nil && !p.Module.Main {
			dirs[p.Module.Path] = p.Module.Dir
		}
	}
	var b strings.Builder
	b.WriteString("# Licences\n\nThe modules whose packages are in `sluice` and in package `pass`, each with its licence, as the test that wrote this list read it.\n\n| module | licence |\n| --- | --- |\n")
	for _, module := range sorted(dirs) {
		name, err := licenceOf(dirs[module])
		if err != nil {
			t.Errorf("%s: %v", module, err)
		}
		fmt.Fprintf(&b, "| %s | %s |\n", module, name)
	}
	path := filepath.Join(root, "docs", "licences.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if committed, err := os.ReadFile(path); err != nil || string(committed) != b.String() {
		t.Errorf("docs/licences.md is not the list of today (%v): go test ./internal/archtest -run TestLicences -update, and read the difference", err)
	}
}

func licenceOf(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	found := false
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		found = true
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		for _, l := range licences {
			if l.words.Match(text) {
				return l.name, nil
			}
		}
	}
	if found {
		return "", errors.New("its licence is none of those that may be in the program")
	}
	return "", errors.New("it has no file with a licence")
}
