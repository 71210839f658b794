package main

import (
	"strings"
	"testing"
)

func TestHealthSaysWhetherANodeCanServe(t *testing.T) {
	t.Parallel()
	s := serve(t)
	if c := spawn(t, "health", "--url", "http://"+s.ops+"/readyz"); c.ExitCode() != 0 {
		t.Errorf("of a node that serves: %d, %s", c.ExitCode(), c.Output())
	}
	s.Kill()
	if c := spawn(t, "health", "--url", "http://"+s.ops+"/readyz"); c.ExitCode() != exitFailed || !strings.Contains(c.Output(), s.ops) {
		t.Errorf("of a node that is gone: %d, %s", c.ExitCode(), c.Output())
	}
}

func TestADemoAgainstNodesNeedsToKnowThem(t *testing.T) {
	t.Parallel()
	c := spawn(t, "demo", "--against", "http://127.0.0.1:1")
	if c.ExitCode() != exitFailed || !strings.Contains(c.Output(), "--admin") || !strings.Contains(c.Output(), "--token") {
		t.Errorf("%d, %s", c.ExitCode(), c.Output())
	}
}
