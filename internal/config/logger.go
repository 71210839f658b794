package config

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"
)

// Logger gives the node's log, in the level and the form that the settings say. Without a form it is text where w is a
// terminal, else JSON.
func (s Serve) Logger(w io.Writer) *slog.Logger {
	format := s.LogFormat
	if format == "" {
		format = "json"
		if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			format = "text"
		}
	}
	o := &slog.HandlerOptions{Level: s.LogLevel}
	if format == "text" {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}
