package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	module = "github.com/sluicehq/sluice"
	root   = "../.."
)

// file is one Go file of the project.
type file struct {
	name    string // relative to the root, with slashes
	pkg     string // folder relative to the root, "." for the root
	test    bool
	lines   int
	imports []string // without testing-only files' marks: see test
	ast     *ast.File
	fset    *token.FileSet
}

// tree reads every Go file of the project, once.
var tree = sync.OnceValues(func() ([]file, error) {
	var files []file
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && p != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" || name == "data") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		raw, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, rel, raw, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		f := file{name: rel, pkg: path.Dir(rel), test: strings.HasSuffix(name, "_test.go"), lines: strings.Count(string(raw), "\n"), ast: tree, fset: fset}
		for _, i := range tree.Imports {
			s, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			f.imports = append(f.imports, s)
		}
		files = append(files, f)
		return nil
	})
	return files, err
})

func readTree(t *testing.T) []file {
	t.Helper()
	files, err := tree()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("found only %d files: wrong folder?", len(files))
	}
	return files
}

// own gives the folder of an import of this module; false for others.
func own(imp string) (string, bool) {
	if imp == module {
		return ".", true
	}
	return strings.CutPrefix(imp, module+"/")
}

// within reports whether folder is dir or below it.
func within(folder, dir string) bool { return folder == dir || strings.HasPrefix(folder, dir+"/") }

// imports gives, for each package, the imports of its files that are not tests, each with one file that has it.
func imports(files []file) map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, f := range files {
		if f.test {
			continue
		}
		if out[f.pkg] == nil {
			out[f.pkg] = map[string]string{}
		}
		for _, i := range f.imports {
			out[f.pkg][i] = f.name
		}
	}
	return out
}

// reach finds what a package imports, also through other packages of the project: import -> the way there.
func reach(all map[string]map[string]string, pkg string) map[string][]string {
	found := map[string][]string{}
	var walk func(pkg string, way []string)
	walk = func(pkg string, way []string) {
		for _, imp := range sorted(all[pkg]) {
			if _, seen := found[imp]; seen {
				continue
			}
			found[imp] = append(append([]string(nil), way...), pkg)
			if folder, ok := own(imp); ok {
				walk(folder, found[imp])
			}
		}
	}
	walk(pkg, nil)
	return found
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
