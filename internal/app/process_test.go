package app_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"testing"

	"github.com/sluicehq/sluice/internal/app"
	"github.com/sluicehq/sluice/internal/childproc"
	"github.com/sluicehq/sluice/internal/config"
	"github.com/sluicehq/sluice/internal/redisserver"
)

// processEnv tells a child what node it is.
const processEnv = "SLUICE_TEST_NODE"

// process says what node a child is.
type process struct {
	Index    int
	RedisURL string // "" = in process
	Prefix   string
	Dir      string
	At       app.Addresses
}

// startProcess starts the i-th node in a process of its own, waits until it is ready, and gives what kill -9 does to it.
func (r *rig) startProcess(i int) (kill func()) {
	r.t.Helper()
	p := process{Index: i, Prefix: r.prefix, Dir: r.dir}
	if r.redis != nil {
		p.RedisURL = r.redis.URL()
	}
	for _, at := range []*string{&p.At.Visitor, &p.At.Admin, &p.At.Ops} {
		var err error
		if *at, err = redisserver.FreeAddr(); err != nil {
			r.t.Fatal(err)
		}
	}
	text, err := json.Marshal(p)
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestNodeProcess$")
	cmd.Env = append(os.Environ(), processEnv+"="+string(text))
	child, err := childproc.Start(cmd)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(child.Kill)
	n := &node{cfg: r.config(i), log: &logBuffer{}, away: &p.At, child: child, stop: child.Kill}
	for len(r.nodes) <= i {
		r.nodes = append(r.nodes, nil)
	}
	r.nodes[i] = n
	r.ready(n)
	return child.Kill
}

// TestNodeProcess is no test: it is what startProcess runs.
func TestNodeProcess(t *testing.T) {
	text := os.Getenv(processEnv)
	if text == "" {
		t.Skip("runs as the child of other tests")
	}
	var p process
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, prefix: p.Prefix, dir: p.Dir, streams: 100}
	c := r.config(p.Index)
	c.RedisURL = config.Secret(p.RedisURL)
	c.Listen, c.OpsListen = p.At.Visitor, p.At.Ops
	if c.AdminListen = p.At.Admin; !c.Roles.Admin {
		c.AdminListen = ""
	}
	a, err := app.New(context.Background(), app.Options{Config: c, Log: slog.New(slog.NewJSONHandler(os.Stderr, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	select {} // until it is killed
}
