package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluicehq/sluice/internal/atomicfile"
	"github.com/sluicehq/sluice/queue"
)

// queuesFile is where a node keeps what it knows of queues, in its data folder, so that they are on again after a
// restart with an empty store.
const queuesFile = "queues.json"

// remembered is the content of that file.
type remembered struct {
	Identity string         `json:"identity"` // of the store that they were in; "" = this process
	Queues   []queue.Header `json:"queues"`
}

func loadQueues(dir string) (remembered, error) {
	var r remembered
	b, err := os.ReadFile(filepath.Join(dir, queuesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("read queues: %w", err)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("read queues: %s: %w", queuesFile, err)
	}
	return r, nil
}

// saveQueues writes the file so that a crash at any instant leaves the old or the new one.
func saveQueues(dir string, r remembered) error {
	b, err := json.Marshal(r)
	if err == nil {
		err = atomicfile.Write(dir, queuesFile, b)
	}
	if err != nil {
		return fmt.Errorf("save queues: %w", err)
	}
	return nil
}
