package bench

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/childproc"
	"github.com/sluicehq/sluice/internal/config"
	"github.com/sluicehq/sluice/internal/fleet"
	"github.com/sluicehq/sluice/internal/load"
	"github.com/sluicehq/sluice/internal/redisserver"
)

// ServeBare is the other side of every ratio: a bare gin server with one route and a ready JSON answer of so many bytes.
// It ends with ctx.
func ServeBare(ctx context.Context, addr string, size int) error {
	config.TuneGC() // as a node does: what is compared is the work for a request, not how often garbage is collected
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	body := bareAnswer(size)
	e.GET("/v1/items/:item/:question", func(c *gin.Context) { c.Data(http.StatusOK, "application/json; charset=utf-8", body) })
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	s := &http.Server{Handler: e, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { s.Close() })
	if err := s.Serve(l); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// bareAnswer is a JSON object of size bytes (at least 8).
func bareAnswer(size int) []byte {
	return fmt.Appendf(nil, `{"x":"%s"}`, bytes.Repeat([]byte{'x'}, max(0, size-8)))
}

// bare starts ServeBare as a process of its own, so that both sides are one.
func (e *env) bare(ctx context.Context, size int) (*childproc.Child, string, error) {
	addr, err := redisserver.FreeAddr()
	if err != nil {
		return nil, "", err
	}
	args := append(e.Program[1:len(e.Program):len(e.Program)], "bench", "serve-bare", "--listen", addr, "--bytes", strconv.Itoa(size))
	cmd := exec.Command(e.Program[0], args...)
	cmd.Env = fleet.Environ(e.Environ)
	child, err := childproc.Start(cmd)
	if err != nil {
		return nil, "", err
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		conn, err := load.Dial(ctx, addr, deadline)
		if err == nil {
			conn.Close()
			return child, addr, nil
		}
		select {
		case <-child.Ended():
			return nil, "", fmt.Errorf("the bare server ended: %s", child.Output())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			child.Kill()
			return nil, "", fmt.Errorf("the bare server does not answer: %w", err)
		}
	}
}
