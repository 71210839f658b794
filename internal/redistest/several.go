package redistest

import (
	"testing"

	"github.com/sluicehq/sluice/internal/redisserver"
)

// NewSentinels starts a primary with a replica and three sentinels, which end with the test.
func NewSentinels(tb testing.TB, args ...string) *redisserver.Sentinels {
	tb.Helper()
	need(tb)
	s, err := redisserver.StartSentinels(args...)
	if err != nil {
		tb.Fatalf("redistest: %v", err)
	}
	tb.Cleanup(s.Close)
	return s
}

// NewCluster starts a cluster of three masters with a replica each, which ends with the test.
func NewCluster(tb testing.TB) *redisserver.Cluster {
	tb.Helper()
	need(tb)
	c, err := redisserver.StartCluster()
	if err != nil {
		tb.Fatalf("redistest: %v", err)
	}
	tb.Cleanup(c.Close)
	return c
}
