// Package fleet runs nodes as processes of their own over one store, and speaks to them: for benchmarks and fault suites.
package fleet

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/internal/childproc"
	"github.com/sluicehq/sluice/internal/redisserver"
)

// AdminToken opens the admin API of a fleet's node that administers.
const AdminToken = "fleet-admin-token"

// SecretKey signs for the nodes of a fleet; who puts people into a line by himself seals tickets by it.
var SecretKey = base64.StdEncoding.EncodeToString([]byte(strings.Repeat("fleet-of-tests--", 2)))

// Options say what a fleet's nodes are. Program and RedisURL are required.
type Options struct {
	Program  []string // command line of sluice, to which "serve" and its flags are added
	Environ  []string // of the nodes; variables of sluice's own settings are left out
	RedisURL string
}

// Fleet is some nodes. Not safe for use by many goroutines, but for its calls.
type Fleet struct {
	Options
	Admin *Node   // the first that was started with the role; nil = none
	Nodes []*Node // the others
	HTTP  *http.Client

	dir string
}

// New makes a fleet without nodes. Close ends what Start adds.
func New(o Options) (*Fleet, error) {
	dir, err := os.MkdirTemp("", "sluice-fleet-")
	return &Fleet{Options: o, HTTP: &http.Client{Timeout: 10 * time.Second}, dir: dir}, err
}

// Start starts one node, of roles as --roles takes them, with more flags, and returns when it is ready.
func (f *Fleet) Start(ctx context.Context, name, roles string, flags ...string) (*Node, error) {
	n, err := f.Launch(name, roles, flags...)
	if err != nil {
		return nil, err
	}
	if err := f.Ready(ctx, n); err != nil {
		n.Kill()
		return nil, fmt.Errorf("%s: %w: %s", name, err, n.Output())
	}
	return n, nil
}

// Launch is Start that does not wait.
func (f *Fleet) Launch(name, roles string, flags ...string) (*Node, error) {
	var at [3]string
	for i := range at {
		var err error
		if at[i], err = redisserver.FreeAddr(); err != nil {
			return nil, err
		}
	}
	n := &Node{Name: name, URL: "http://" + at[0], AdminURL: "http://" + at[1], OpsURL: "http://" + at[2]}
	n.args = append(slices.Clone(f.Program), "serve",
		"--node-id", name, "--roles", roles, "--redis-url", f.RedisURL,
		"--listen", at[0], "--admin-listen", at[1], "--ops-listen", at[2],
		"--data-dir", filepath.Join(f.dir, name), "--log-level", "warn", "--log-format", "text", "--secret-key", SecretKey,
	)
	admin := slices.Contains(strings.Split(roles, ","), "admin")
	if admin {
		n.args = append(n.args, "--bootstrap-admin-token", AdminToken)
	}
	n.args = append(n.args, flags...)
	n.environ = Environ(f.Environ)
	if err := n.Run(); err != nil {
		return nil, err
	}
	if admin && f.Admin == nil {
		f.Admin = n
	} else {
		f.Nodes = append(f.Nodes, n)
	}
	return n, nil
}

// Environ is environ without the variables of sluice's own settings.
func Environ(environ []string) (kept []string) {
	for _, v := range environ {
		if !strings.HasPrefix(v, "SLUICE_") {
			kept = append(kept, v)
		}
	}
	return kept
}

// Ready waits until the node says that it can serve, or has ended, or for 20 s.
func (f *Fleet) Ready(ctx context.Context, n *Node) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		if status, _, err := f.Get(ctx, n.OpsURL+"/readyz"); err == nil && status == http.StatusOK {
			return nil
		}
		select {
		case <-n.child.Ended():
			return errors.New("ended at once")
		case <-ctx.Done():
			return errors.New("is not ready")
		case <-time.After(wait):
		}
	}
}

// Close ends all nodes.
func (f *Fleet) Close() {
	for _, n := range append(f.Nodes, f.Admin) {
		if n != nil {
			n.Kill()
		}
	}
	_ = os.RemoveAll(f.dir)
}

// Node is one process.
type Node struct {
	Name                  string
	URL, AdminURL, OpsURL string // http://host:port

	args, environ []string
	child         *childproc.Child
}

// Run starts the process, once more where it has ended: same command line, same addresses, same data folder.
func (n *Node) Run() error {
	cmd := exec.Command(n.args[0], n.args[1:]...)
	cmd.Env = n.environ
	var err error
	n.child, err = childproc.Start(cmd)
	return err
}

// Kill ends the process as kill -9 does, and returns when it is gone. Killing twice is safe.
func (n *Node) Kill() { n.child.Kill() }

// Signal sends sig to the process.
func (n *Node) Signal(sig os.Signal) error { return n.child.Signal(sig) }

// Ended is closed when the process that runs now has ended.
func (n *Node) Ended() <-chan struct{} { return n.child.Ended() }

// Output is the end of what the process that runs now has printed.
func (n *Node) Output() string { return n.child.Output() }

// PID is the process id.
func (n *Node) PID() int { return n.child.PID() }

// Host is the host:port of the visitors' listener.
func (n *Node) Host() string { return strings.TrimPrefix(n.URL, "http://") }
