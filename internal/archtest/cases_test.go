package archtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// casesFile tells of faults that somebody once had in earnest, one a row. It is not part of the repository.
const casesFile = "../shared/CASES.md"

// owed are the cases that no test cites yet, because what they are about is still to come.
var owed = []string{
	"B103", "B163", "B175",
}

var caseRow = regexp.MustCompile(`(?m)^\| (B[0-9]{3}) \|`)

func TestEachCaseIsCitedByATest(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(root, casesFile))
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "SKIPPED %s: there is no %s beside the repository\n", t.Name(), casesFile)
		t.Skip("no " + casesFile)
	}
	if err != nil {
		t.Fatal(err)
	}
	cited := citations(readTree(t))
	known := map[string]bool{}
	for _, row := range caseRow.FindAllStringSubmatch(string(raw), -1) {
		id := row[1]
		known[id] = true
		if cited[id] == "" && !slices.Contains(owed, id) {
			t.Errorf("%s: no test cites it", id)
		}
	}
	if len(known) < 100 {
		t.Fatalf("%s has only %d cases: another form of rows?", casesFile, len(known))
	}
	for _, id := range owed {
		switch {
		case !known[id]:
			t.Errorf("%s is owed, but %s has no such case", id, casesFile)
		case cited[id] != "":
			t.Errorf("%s is owed no more: %s cites it", id, cited[id])
		}
	}
	for _, id := range sorted(cited) {
		if !known[id] {
			t.Errorf("%s cites %s, but %s has no such case", cited[id], id, casesFile)
		}
	}
}

// citations finds the cases that comments of tests cite, each with one file that does. Tests are also the packages that other
// packages' tests are made of.
func citations(files []file) map[string]string {
	tests := map[string]bool{}
	for _, f := range files {
		tests[f.pkg] = tests[f.pkg] || !f.test && slices.Contains(f.imports, "testing")
	}
	cited := map[string]string{}
	for _, f := range files {
		if !f.test && !tests[f.pkg] {
			continue
		}
		for _, group := range f.ast.Comments {
			for _, id := range caseID.FindAllString(group.Text(), -1) {
				cited[id] = f.name
			}
		}
	}
	return cited
}
