package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, text := range []string{"first", "second, and longer", ""} {
		if err := Write(dir, "x.json", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "x.json")); err != nil || string(got) != text {
			t.Errorf("read %q %v", got, err)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("files left behind: %v", files)
	}
	if info, _ := os.Stat(filepath.Join(dir, "x.json")); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if err := Write(filepath.Join(dir, "none"), "x.json", nil); err == nil || !strings.Contains(err.Error(), "x.json") {
		t.Errorf("a folder that is not there: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, "taken", nil); err == nil {
		t.Error("wrote over a folder")
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("a write that failed left something behind: %v", files)
	}
}
