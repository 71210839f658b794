package postgrestest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// errMissing says that there is no Postgres here.
var errMissing = errors.New("no Postgres here (deploy/install-test-deps.sh installs it)")

// binaries is the folder of postgres and initdb: that of PATH, else the newest of the places where Debian puts them,
// which are not in PATH.
var binaries = sync.OnceValues(func() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil && complete(filepath.Dir(path)) {
			return filepath.Dir(path), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	for _, dir := range found {
		if complete(dir) {
			return dir, nil
		}
	}
	return "", errMissing
})

func complete(dir string) bool {
	for _, name := range []string{"postgres", "initdb"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.IsDir() {
			return false
		}
	}
	return true
}

// version is that in /usr/lib/postgresql/15/bin.
func version(dir string) int {
	n, _ := strconv.Atoi(strings.TrimSuffix(filepath.Base(filepath.Dir(dir)), "/"))
	return n
}
