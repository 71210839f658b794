package config

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"

	"github.com/sluicehq/sluice/internal/otellog"
)

// Logger gives the node's log, in the level and the form that the settings say. Without a form it is text where w is a
// terminal, else JSON after the log data model of OpenTelemetry. Lines also go to the handlers that are not nil.
func (s Serve) Logger(w io.Writer, also ...slog.Handler) *slog.Logger {
	format := s.LogFormat
	if format == "" {
		format = "json"
		if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			format = "text"
		}
	}
	all := []slog.Handler{otellog.Text(w, s.LogLevel)}
	if format == "json" {
		all[0] = otellog.JSON(w, s.LogLevel, slog.String("service.name", "sluice"), slog.String("service.instance.id", s.NodeID))
	}
	for _, h := range also {
		if h != nil {
			all = append(all, h)
		}
	}
	if len(all) == 1 {
		return slog.New(all[0])
	}
	return slog.New(slog.NewMultiHandler(all...))
}
