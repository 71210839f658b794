package config

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// KeyFile is where a node without --secret-key keeps the secret it made, in the data folder.
const KeyFile = "secret.key"

// OrIn gives k, or, where it is empty, the secret of the data folder, made at the first call. Several processes may
// call it at once: all get the same.
func (k Keys) OrIn(dir string) (Keys, error) {
	if len(k) > 0 {
		return k, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("--data-dir: %w", err)
	}
	if err := makeKey(dir, filepath.Join(dir, KeyFile)); err != nil {
		return nil, fmt.Errorf("--data-dir: make the secret: %w", err)
	}
	return k.OrThatOf(dir)
}

// OrThatOf gives k, or, where it is empty, the secret that the data folder has: an error where it has none.
func (k Keys) OrThatOf(dir string) (Keys, error) {
	if len(k) > 0 {
		return k, nil
	}
	path := filepath.Join(dir, KeyFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--secret-key: it is that of the nodes, and %s has none", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("--data-dir: read the secret: %w", err)
	}
	key, ok := decodeKey(strings.TrimSpace(string(raw)))
	if !ok {
		return nil, fmt.Errorf("--data-dir: %s does not hold a secret of %d bytes or more in base64", path, minKey)
	}
	return Keys{key}, nil
}

// makeKey writes a new secret unless there is one. It is written aside and linked, so that nobody reads half of it and
// the first of several processes wins.
func makeKey(dir, path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	key := make([]byte, minKey)
	_, _ = rand.Read(key) // never fails
	f, err := os.CreateTemp(dir, KeyFile+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
