package settings

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluicehq/sluice/internal/atomicfile"
)

// FileName is that of the last known settings in the data folder, from which a node starts while the store is away.
const FileName = "settings.json"

// Publisher puts settings where all nodes find them.
type Publisher interface {
	// Publish stores s unless newer ones are there. ErrOtherOwner where those there are another database's.
	Publish(ctx context.Context, s *Settings) error
	// Load gives the published settings; false where there are none.
	Load(ctx context.Context) (*Settings, bool, error)
}

// ErrOtherOwner is a refusal to overwrite the settings of another database.
var ErrOtherOwner = errors.New("the store holds the settings of another database")

// SaveFile writes the settings into the data folder so that a crash at any instant leaves the old or the new file.
func SaveFile(dir string, s *Settings) error {
	body, err := s.Encode()
	if err == nil {
		err = atomicfile.Write(dir, FileName, body)
	}
	if err != nil {
		return fmt.Errorf("save settings: %w", err)
	}
	return nil
}

// LoadFile reads what SaveFile wrote; false where there is no file.
func LoadFile(dir string) (*Settings, bool, error) {
	body, err := os.ReadFile(filepath.Join(dir, FileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("load settings: %w", err)
	}
	s, err := Decode(body)
	if err != nil {
		return nil, false, fmt.Errorf("load %s: %w", filepath.Join(dir, FileName), err)
	}
	return s, true, nil
}
