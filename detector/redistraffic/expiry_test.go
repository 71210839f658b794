package redistraffic_test

import (
	"testing"
	"time"

	"github.com/sluicehq/sluice/detector"
	"github.com/sluicehq/sluice/detector/redistraffic"
	"github.com/sluicehq/sluice/internal/redistest"
	"github.com/sluicehq/sluice/queue"
	"github.com/sluicehq/sluice/queue/redisline"
)

// B125: what is counted lasts two windows at most after the last request, whatever the window was before, and on the
// store's own clock the keys are gone by then.
func TestCountsAreForgottenAfterTwoWindows(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	line := redisline.New(redisline.Options{Client: s.Client(), Prefix: s.Prefix()})
	traffic := redistraffic.New(line)
	policy := queue.DefaultPolicy()
	policy.TriggerNewVisitorsPerMinute = 1000
	seq := int64(0)
	count := func(window int64) {
		t.Helper()
		seq++
		policy.TriggerWindowSeconds = window
		got, err := traffic.Flush(t.Context(), []detector.Sample{{
			Item: "sku-1", Node: "a", Seq: seq, Limits: policy.Limits(seq),
			Counts: []detector.Bucket{{N: 1}}, Newcomers: []detector.Bucket{{N: 1}},
		}})
		if err != nil || got[0].Err != nil {
			t.Fatal(err, got[0].Err)
		}
	}
	for _, window := range []int64{10, 600, 1} {
		count(window)
		keys, err := s.Client().Keys(t.Context(), s.Prefix()+"{sku-1}:*").Result()
		if err != nil || len(keys) == 0 {
			t.Fatalf("keys %v, %v", keys, err)
		}
		most := time.Duration(max(window, 60)) * 2 * time.Second // newcomers are those of a minute
		for _, k := range keys {
			ttl := s.Client().PTTL(t.Context(), k).Val()
			if ttl <= 0 || ttl > most {
				t.Errorf("window %d s: %s ends in %v, want at most %v", window, k, ttl, most)
			}
			if k == s.Prefix()+"{sku-1}:traffic" && ttl > time.Duration(2*window)*time.Second {
				t.Errorf("window %d s: the traffic ends in %v", window, ttl)
			}
		}
	}
	policy.TriggerNewVisitorsPerMinute = 0
	count(1)
	late := time.After(5 * time.Second)
	for s.Client().Exists(t.Context(), s.Prefix()+"{sku-1}:traffic").Val() > 0 {
		select {
		case <-late:
			t.Fatal("the traffic is still there five seconds after the last request in a window of one")
		case <-time.After(20 * time.Millisecond):
		}
	}
}
