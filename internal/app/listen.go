package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime/debug"
	profiles "runtime/pprof"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/internal/problem"
)

// listeners are the three doors of a node.
type listeners struct {
	servers []*http.Server
	nets    []net.Listener

	visitor, admin, ops net.Addr
}

// Addresses are where a node listens, host:port; "" = not at all.
type Addresses struct{ Visitor, Admin, Ops string }

// Addresses tells where the node listens, after Start.
func (a *App) Addresses() Addresses {
	text := func(addr net.Addr) string {
		if addr == nil {
			return ""
		}
		return addr.String()
	}
	return Addresses{Visitor: text(a.listeners.visitor), Admin: text(a.listeners.admin), Ops: text(a.listeners.ops)}
}

// listen opens the doors that the roles need.
func (a *App) listen() error {
	var err error
	if a.cfg.Roles.Gate {
		if a.listeners.visitor, err = a.open("--listen", a.cfg.Listen, a.gate.Handler()); err != nil {
			return err
		}
	}
	if a.admin != nil {
		if a.listeners.admin, err = a.open("--admin-listen", a.cfg.AdminListen, a.adminHandler()); err != nil {
			return err
		}
	}
	a.listeners.ops, err = a.open("--ops-listen", a.cfg.OpsListen, a.ops())
	return err
}

func (a *App) open(flag, addr string, h http.Handler) (net.Addr, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		a.listeners.close()
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	a.listeners.nets = append(a.listeners.nets, problem.Listener(l))
	a.listeners.servers = append(a.listeners.servers, &http.Server{
		Handler: h, MaxHeaderBytes: problem.MaxHeaders, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute, DisableGeneralOptionsHandler: true,
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelWarn),
	})
	return l.Addr(), nil
}

// ops serves what only operators may reach.
func (a *App) ops() http.Handler {
	e := problem.NewEngine(a.log)
	e.Use(a.around(a.metrics.Requests("ops"), true, false)...)
	e.Use(problem.Identify, problem.Requests(slog.LevelDebug), problem.Recover, problem.Bound)
	for path, h := range map[string]http.Handler{
		"/healthz": http.HandlerFunc(a.gate.Health),
		"/readyz":  http.HandlerFunc(a.gate.Ready),
		"/metrics": a.metrics.Handler(),
	} {
		e.GET(path, gin.WrapH(h))
		e.HEAD(path, gin.WrapH(h))
	}
	e.GET("/debug/build", func(c *gin.Context) {
		if info, ok := debug.ReadBuildInfo(); ok {
			c.String(http.StatusOK, "%s", info)
			return
		}
		problem.NotFound(c)
	})
	e.GET("/debug/pprof/", gin.WrapF(pprof.Index))
	e.GET("/debug/pprof/:profile", func(c *gin.Context) {
		switch name := c.Param("profile"); {
		case name == "profile":
			pprof.Profile(c.Writer, c.Request)
		case name == "symbol":
			pprof.Symbol(c.Writer, c.Request)
		case name == "trace":
			pprof.Trace(c.Writer, c.Request)
		case profiles.Lookup(name) != nil:
			pprof.Handler(name).ServeHTTP(c.Writer, c.Request)
		default:
			problem.NotFound(c)
		}
	})
	return e
}

func (a *App) serve() {
	for i, s := range a.listeners.servers {
		l := a.listeners.nets[i]
		go func() {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				a.log.Error("listener ended", "addr", l.Addr().String(), "err", err)
			}
		}()
	}
}

// shutdown lets requests in flight end; those that have not by the end of ctx are cut off.
func (l *listeners) shutdown(ctx context.Context) error {
	var errs []error
	for _, s := range l.servers {
		if err := s.Shutdown(ctx); err != nil {
			errs = append(errs, fmt.Errorf("shut down: %w", err), s.Close())
		}
	}
	return errors.Join(errs...)
}

func (l *listeners) close() {
	for _, n := range l.nets {
		_ = n.Close()
	}
}
