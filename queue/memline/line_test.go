package memline_test

import (
	"testing"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/queue/linetest"
	"github.com/sluicehq/sluice/queue/memline"
)

func TestLine(t *testing.T) {
	t.Parallel()
	linetest.Exercise(t, func(_ *testing.T, c clock.Clock) linetest.Line {
		return memline.New(memline.Options{Clock: c})
	})
}

// The model agrees with itself: what the state machine compares is deterministic, and no invariant breaks.
func TestLineAgreesWithItself(t *testing.T) {
	t.Parallel()
	linetest.Model(t, func(c clock.Clock) linetest.Line { return memline.New(memline.Options{Clock: c}) })
}
