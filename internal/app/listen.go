package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

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
	a.listeners.nets = append(a.listeners.nets, l)
	a.listeners.servers = append(a.listeners.servers, &http.Server{
		Handler: h, MaxHeaderBytes: problem.MaxHeaders, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute,
	})
	return l.Addr(), nil
}

// ops serves what only operators may reach.
func (a *App) ops() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", a.gate.Health)
	mux.HandleFunc("GET /readyz", a.gate.Ready)
	mux.Handle("GET /metrics", a.metrics.Handler())
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
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
