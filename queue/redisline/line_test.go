package redisline_test

import (
	"testing"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/queue/linetest"
	"github.com/sluicehq/sluice/queue/redisline"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func newLine(t *testing.T, c clock.Clock) linetest.Line {
	s := redistest.Shared(t)
	return redisline.New(redisline.Options{Client: s.Client(), Prefix: s.Prefix(), Clock: c})
}

func TestLine(t *testing.T) { linetest.Exercise(t, newLine) }

func TestModel(t *testing.T) {
	linetest.Model(t, func(c clock.Clock) linetest.Line { return newLine(t, c) })
}
