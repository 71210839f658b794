package replay

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicehq/sluice/internal/itempattern"
	"github.com/sluicehq/sluice/internal/trace"
	"github.com/sluicehq/sluice/queue"
)

const data = "../../../shared/data"

// truth is what an exact detector and an exact first-come line do with a trace; see the README beside the files.
type truth struct {
	Totals struct {
		Events, Visitors, Items int64
		SkippedLines            int64 `json:"skipped_lines"`
	}
	Settings []truthSetting
}

type truthSetting struct {
	Setting struct {
		Window   int64   `json:"window_seconds"`
		Trigger  int64   `json:"trigger_requests"`
		Inflow   float64 `json:"inflow_per_second"`
		Session  int64   `json:"session_seconds"`
		Ratio    float64 `json:"release_ratio"`
		Release  int64   `json:"release_after_seconds"`
		MaxUsers int64   `json:"max_active_users"`
		Hold     int     `json:"hold"`
	}
	ItemsActivated    int              `json:"items_activated"`
	Joined            int64            `json:"joined"`
	NearMisses        map[string]int64 `json:"near_misses"`
	FirstActivationMS map[string]int64 `json:"first_activation_ms"`
	Items             map[string]truthItem
}

type truthItem struct {
	PeakCount   int64 `json:"peak_count"`
	PeakWaiting int64 `json:"peak_waiting"`
	Admitted    int64
	WaitMS      *Wait `json:"wait_ms"`
	Activations []Activation
}

// onMS is the time that an item's queues were on.
func onMS(as []Activation) (ms int64) {
	for _, a := range as {
		if a.ReleasedMS != nil {
			ms += *a.ReleasedMS - a.ActivatedMS
		}
	}
	return ms
}

func TestReplayAgreesWithTheTruth(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"nasa-1995-08-01.log.gz", "higgs-retweets.csv.gz"} {
		base := name[:len(name)-len(".log.gz")]
		b, err := os.ReadFile(filepath.Join(data, "truth", base+".json"))
		if err != nil {
			t.Skipf("SKIPPED: the traces and their truth are not here: %v", err)
		}
		var want truth
		if err := json.Unmarshal(b, &want); err != nil {
			t.Fatal(err)
		}
		tr, err := trace.Read([]string{filepath.Join(data, name)}, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range want.Settings {
			if s.Setting.Hold != 1 {
				continue
			}
			x := s.Setting
			t.Run(fmt.Sprintf("%s/%d_in_%d_s", base, x.Trigger, x.Window), func(t *testing.T) {
				t.Parallel()
				policy := queue.DefaultPolicy()
				policy.TriggerRequests, policy.TriggerWindowSeconds = x.Trigger, x.Window
				policy.InflowPerSecond, policy.SessionSeconds = x.Inflow, x.Session
				policy.ReleaseRatio, policy.ReleaseAfterSeconds, policy.MaxActiveUsers = x.Ratio, x.Release, x.MaxUsers
				got, err := Run(t.Context(), tr, Options{Policies: queue.NewPolicies(1, map[queue.Pattern]queue.Policy{"*": policy})})
				if err != nil {
					t.Fatal(err)
				}
				if g, w := got.Totals, want.Totals; g.Events != w.Events || g.Visitors != w.Visitors || g.Items != w.Items || g.SkippedLines != w.SkippedLines {
					t.Errorf("totals %+v, want %+v", g, w)
				}
				compare(t, s, got)
			})
		}
	}
}

// compare holds a replay to the truth, with the tolerances of its README. A replay has no ticks, so they are those of
// the detector and of one token.
func compare(t *testing.T, s truthSetting, got *Report) {
	t.Helper()
	items := map[string]*ItemReport{}
	for id, it := range got.Items {
		items[string(id)] = it
	}
	x := s.Setting
	late := max(250, x.Window*1000/50)
	token := int64(1000 / x.Inflow)
	var joined int64
	for name, want := range s.Items {
		id := name
		if name[0] == '/' {
			id = string(itempattern.Encode(name))
		}
		it := items[id]
		delete(items, id)
		if it == nil {
			if float64(want.PeakCount) > float64(x.Trigger)*1.01 {
				t.Errorf("%s did not activate, with a peak of %d", name, want.PeakCount)
			}
			continue
		}
		joined += it.Joined
		near := func(what string, got, want, within int64) {
			t.Helper()
			if d := got - want; d < -within || d > within {
				t.Errorf("%s: %s %d, want %d within %d", name, what, got, want, within)
			}
		}
		share := func(n int64) int64 { return n / 50 } // 2 %
		near("first activation", it.Activations[0].ActivatedMS, s.FirstActivationMS[name], late)
		near("peak count", it.PeakCount, want.PeakCount, 1+want.PeakCount/100)
		near("time on", onMS(it.Activations), onMS(want.Activations), share(onMS(want.Activations))+late*int64(len(want.Activations)))
		near("joined", it.Joined, want.Admitted, 2+share(want.Admitted))
		near("admitted", it.Admitted, want.Admitted, 2+share(want.Admitted))
		near("peak waiting", it.PeakWaiting, want.PeakWaiting, 2+share(want.PeakWaiting))
		if (it.WaitMS == nil) != (want.WaitMS == nil) {
			t.Errorf("%s: waits %v, want %v", name, it.WaitMS, want.WaitMS)
		} else if want.WaitMS != nil {
			near("wait p50", it.WaitMS.P50, want.WaitMS.P50, token+share(want.WaitMS.P50))
			near("wait p95", it.WaitMS.P95, want.WaitMS.P95, token+share(want.WaitMS.P95))
			near("longest wait", it.WaitMS.Max, want.WaitMS.Max, token+share(want.WaitMS.Max))
		}
		if len(it.Activations) == 1 && len(want.Activations) == 1 {
			near("grace", it.Activations[0].Grace, want.Activations[0].Grace, 1)
			near("release", *it.Activations[0].ReleasedMS, *want.Activations[0].ReleasedMS, late+token)
		}
	}
	for id := range items {
		if _, near := s.NearMisses[id]; !near {
			t.Errorf("%s activated", id)
		}
	}
	if d := joined - s.Joined; d < -s.Joined/50 || d > s.Joined/50 {
		t.Errorf("%d joined, want %d", joined, s.Joined)
	}
}
