package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sluicehq/sluice/internal/app"
	"github.com/sluicehq/sluice/internal/config"
	"github.com/sluicehq/sluice/internal/telemetry"
)

// serveCmd runs a node until SIGTERM or SIGINT.
type serveCmd struct {
	config.Flags `embed:""`
}

// Run starts the node and drains it after the first signal. A second signal ends the process at once.
func (c *serveCmd) Run() error {
	cfg, err := c.Flags.Serve()
	if err != nil {
		return err
	}
	config.TuneGC()
	ctx, asked := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer asked()
	export, err := telemetry.OpenExport(ctx, cfg.NodeID, cfg.TraceSampleRatio)
	if err != nil {
		return err
	}
	log := cfg.Logger(os.Stderr, export.LogHandler())
	slog.SetDefault(log)
	export.Quiet(log)
	node, err := app.New(ctx, app.Options{Config: cfg, Log: log, Export: export})
	if err != nil {
		return err
	}
	if err := node.Start(ctx); err != nil {
		return err
	}
	at := node.Addresses()
	log.Info("node runs", "node", cfg.NodeID, "visitor", at.Visitor, "admin", at.Admin, "ops", at.Ops)

	<-ctx.Done()
	asked() // from here on a signal does what it does to any program
	log.Info("draining", "at_most", cfg.ShutdownTimeout.String())
	began := time.Now()
	drain, cancel := context.WithTimeout(context.Background(), cfg.ShutdownTimeout)
	defer cancel()
	err = node.Stop(drain)
	log.Info("drained", "took_ms", time.Since(began).Milliseconds())
	return err
}
