package childproc_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/sluicehq/sluice/internal/childproc"
)

func TestChild(t *testing.T) {
	t.Parallel()
	c, err := childproc.Start(exec.Command("sh", "-c", "echo hello; exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	if code := c.ExitCode(); code != 3 || c.Output() != "hello" {
		t.Errorf("code %d, output %q", code, c.Output())
	}
	c.Kill() // of one that is gone
}

func TestKillAndSignal(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*childproc.Child){
		"kill":    (*childproc.Child).Kill,
		"SIGTERM": func(c *childproc.Child) { _ = c.Signal(syscall.SIGTERM); <-c.Ended() },
	} {
		c, err := childproc.Start(exec.Command("sleep", "60"))
		if err != nil {
			t.Fatal(err)
		}
		if end(c); c.ExitCode() != -1 {
			t.Errorf("%s: exit code %d", name, c.ExitCode())
		}
	}
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	c, err := childproc.Start(exec.Command("sh", "-c", "i=0; while [ $i -lt 2000 ]; do echo 0123456789; i=$((i+1)); done; echo end"))
	if err != nil {
		t.Fatal(err)
	}
	<-c.Ended()
	if out := c.Output(); len(out) > 8<<10 || !strings.HasSuffix(out, "end") {
		t.Errorf("%d bytes, ends in %q", len(out), out[max(0, len(out)-10):])
	}
}

func TestAProgramThatIsNotThere(t *testing.T) {
	t.Parallel()
	if _, err := childproc.Start(exec.Command("/nonexistent/program")); err == nil {
		t.Error("started")
	}
}
