package telemetry

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/sluicehq/sluice/internal/telemetry/series"
)

// The kinds of failed calls of the store, and the calls that have a series from the start.
var (
	storeKinds    = []string{"timeout", "network", "readonly", "oom", "noscript", "moved", "loading", "busy", "other"}
	storeCommands = []string{"join", "step", "touch", "end", "recall", "switch", "count", series.OtherItem}
)

// StoreHook measures each call of the store: a script by the name that scripts gives to its digest, any other command by
// its own name, and a pipeline by its first command.
type StoreHook struct {
	m       *Metrics
	scripts map[string]string // by digest
	traces  *Tracer           // nil = nothing is traced
}

// StoreHook makes the hook of a client of the store.
func (m *Metrics) StoreHook(scripts map[string]string, traces *Tracer) StoreHook {
	return StoreHook{m, scripts, traces}
}

// DialHook leaves dialing as it is.
func (h StoreHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook measures one command.
func (h StoreHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if blocks(cmd) {
			return next(ctx, cmd)
		}
		var span trace.Span
		if trace.SpanFromContext(ctx).IsRecording() { // else nobody needs a name for it
			ctx, span = h.traces.Inside(ctx, "redis "+h.Name(cmd))
		}
		began := time.Now()
		err := next(ctx, cmd)
		endCall(span, err)
		h.took(cmd, time.Since(began))
		h.failed(ctx, err)
		return err
	}
}

// ProcessPipelineHook measures the commands of a pipeline as one call.
func (h StoreHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		ctx, span := h.traces.Inside(ctx, "redis pipeline", attribute.Int("db.operation.batch.size", len(cmds)))
		began := time.Now()
		err := next(ctx, cmds)
		endCall(span, err)
		if len(cmds) > 0 {
			h.took(cmds[0], time.Since(began))
		}
		for _, cmd := range cmds {
			h.failed(ctx, cmd.Err())
		}
		return err
	}
}

// endCall ends the span of a call; what is not there is no error.
func endCall(span trace.Span, err error) {
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	End(span, err, attribute.String("db.system.name", "redis"))
}

// blocks reports whether a command waits for something to happen.
func blocks(cmd redis.Cmder) bool { return cmd.Name() == "xread" }

// Name is what a command is called: that of the script that it runs, or its own.
func (h StoreHook) Name(cmd redis.Cmder) string {
	name := cmd.Name()
	if args := cmd.Args(); strings.HasPrefix(name, "eval") && len(args) > 1 {
		if digest, ok := args[1].(string); ok {
			if script, ok := h.scripts[digest]; ok {
				return script
			}
		}
	}
	return name
}

func (h StoreHook) took(cmd redis.Cmder, d time.Duration) {
	o, ok := h.m.commands.Load(h.Name(cmd))
	if !ok {
		o, _ = h.m.commands.Load(series.OtherItem)
	}
	o.(prometheus.Observer).Observe(d.Seconds())
}

func (h StoreHook) failed(ctx context.Context, err error) {
	if err == nil || errors.Is(err, redis.Nil) || errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	h.m.storeErrors[storeKind(err)].Inc()
}

// storeKind is which of storeKinds an error is.
func storeKind(err error) string {
	for prefix, kind := range map[string]string{
		"READONLY": "readonly", "OOM": "oom", "NOSCRIPT": "noscript", "MOVED": "moved", "ASK": "moved", "CLUSTERDOWN": "moved",
		"TRYAGAIN": "moved", "LOADING": "loading", "MASTERDOWN": "loading", "BUSY": "busy",
	} {
		if redis.HasErrorPrefix(err, prefix) {
			return kind
		}
	}
	var network net.Error
	var answered redis.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "timeout"
	case errors.As(err, &answered):
		return "other"
	}
	return "network"
}
