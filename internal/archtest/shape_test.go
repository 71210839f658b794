package archtest

import (
	"go/ast"
	"path"
	"regexp"
	"testing"
)

// maxLines is where reading stops.
const maxLines = 600

func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	for _, f := range readTree(t) {
		if f.lines > maxLines {
			t.Errorf("%s has %d lines, more than %d: it has more than one subject", f.name, f.lines, maxLines)
		}
	}
}

// vague are names that say nothing about what a package gives.
var vague = regexp.MustCompile(`^(utils?|common|helpers?|models?|impl|misc|shared|base|types|lib)$`)

func TestPackagesAreNamedForWhatTheyGive(t *testing.T) {
	t.Parallel()
	for _, f := range readTree(t) {
		if vague.MatchString(path.Base(f.pkg)) || vague.MatchString(f.ast.Name.Name) {
			t.Errorf("%s: package %s is named for nothing that it gives", f.name, f.ast.Name.Name)
		}
	}
}

func TestEachPackageHasOneComment(t *testing.T) {
	t.Parallel()
	comments := map[string][]string{}
	for _, f := range readTree(t) {
		if f.test {
			continue
		}
		if _, seen := comments[f.pkg]; !seen {
			comments[f.pkg] = nil
		}
		if f.ast.Doc != nil && f.ast.Doc.Text() != "" {
			comments[f.pkg] = append(comments[f.pkg], f.name)
		}
	}
	for pkg, in := range comments {
		if len(in) != 1 {
			t.Errorf("%s has %d package comments, not one: %v", pkg, len(in), in)
		}
	}
}

// sleeps lists the test files that may call time.Sleep, each with its reason.
var sleeps = map[string]string{}

func TestTestsDoNotSleep(t *testing.T) {
	t.Parallel()
	for _, f := range readTree(t) {
		if !f.test || sleeps[f.name] != "" || bubbled(f) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && isSleep(call) {
				t.Errorf("%s: time.Sleep: wait for the event, hold the clock in hand, or use testing/synctest",
					f.fset.Position(call.Pos()))
			}
			return true
		})
	}
}

// bubbled reports whether a file's tests run in a synctest bubble, where sleeping takes no time.
func bubbled(f file) bool {
	for _, i := range f.imports {
		if i == "testing/synctest" {
			return true
		}
	}
	return false
}

func isSleep(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Sleep" {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "time"
}

// caseID finds what looks like a case's id; the ids are B and three digits.
var caseID = regexp.MustCompile(`\bB0*[0-9]+\b`)
var goodID = regexp.MustCompile(`^B[0-9]{3}$`)

func TestCaseIDsAreWritten(t *testing.T) {
	t.Parallel()
	for _, f := range readTree(t) {
		for _, group := range f.ast.Comments {
			for _, id := range caseID.FindAllString(group.Text(), -1) {
				if !goodID.MatchString(id) {
					t.Errorf("%s: case %s: an id is B and three digits", f.fset.Position(group.Pos()), id)
				}
			}
		}
	}
}
