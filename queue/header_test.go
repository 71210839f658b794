package queue_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
)

func TestBalanced(t *testing.T) { // books-balance
	t.Parallel()
	for _, tc := range []struct {
		name   string
		counts queue.Counts
		want   bool
	}{
		{"nothing happened", queue.Counts{}, true},
		{"who joined waits", queue.Counts{Joined: 3, Waiting: 3}, true},
		{"who came back is one more who came", queue.Counts{Joined: 3, Returned: 2, Waiting: 5}, true},
		{"the restored are part of the returned", queue.Counts{Returned: 2, Restored: 2, Waiting: 2}, true},
		{"the reserved are in no set", queue.Counts{Reserved: 7}, true},
		{"each way out of the line", queue.Counts{Joined: 10, Waiting: 1, Admitted: 4, Abandoned: 2, Left: 3, Running: 4}, true},
		{"each way out of a stay", queue.Counts{Joined: 10, Admitted: 10, Carried: 2, Running: 3, Finished: 4, NoShow: 3, Revoked: 2}, true},
		{"one in line whom nobody wrote down", queue.Counts{Joined: 3, Waiting: 4}, false},
		{"one lost from the line", queue.Counts{Joined: 3, Waiting: 2}, false},
		{"one admitted who is nowhere", queue.Counts{Joined: 1, Admitted: 1}, false},
		{"one inside who never came in", queue.Counts{Running: 1}, false},
		{"a finish counted twice", queue.Counts{Joined: 1, Admitted: 1, Finished: 2}, false},
		{"two mistakes do not make up for each other", queue.Counts{Joined: 1, Running: 1}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := tc.counts.Balanced(); got != tc.want {
				t.Errorf("%+v: %v", tc.counts, got)
			}
		})
	}
}

func TestOnlyALaterVersionIsNewer(t *testing.T) {
	t.Parallel()
	known := queue.Header{Version: 5, State: queue.Open, Generation: 9}
	for version, want := range map[int64]bool{4: false, 5: false, 6: true} {
		if got := (queue.Header{Version: version, Generation: 1}).Newer(known); got != want {
			t.Errorf("version %d over 5: %v", version, got)
		}
	}
}

func TestAnyStateButOffIsOn(t *testing.T) {
	t.Parallel()
	for _, s := range states {
		if got := (queue.Header{State: s}).On(); got != (s != queue.Off) {
			t.Errorf("%s: on %v", s, got)
		}
	}
}

func TestScoreTime(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 1, 11, 0, 0, 123_456_000, time.UTC)
	if got := queue.ScoreTime(at.UnixMicro()); !got.Equal(at) || got.Location() != time.UTC {
		t.Errorf("an arrival: %s", got)
	}
	for _, lot := range []int64{1, queue.MaxLot - 1} {
		if got := queue.ScoreTime(lot); !got.IsZero() {
			t.Errorf("the lot %d is no arrival: %s", lot, got)
		}
	}
	if got := queue.ScoreTime(queue.MaxLot); got.Year() != 2005 {
		t.Errorf("the first arrival above all lots: %s", got)
	}
}

// B014
func TestAZeroIsWritten(t *testing.T) {
	t.Parallel()
	counts, err := json.Marshal(queue.Counts{})
	if err != nil {
		t.Fatal(err)
	}
	header, err := json.Marshal(queue.Header{})
	if err != nil {
		t.Fatal(err)
	}
	for doc, names := range map[string][]string{
		string(counts): {"waiting", "running", "reserved", "joined", "returned", "restored", "admitted", "abandoned", "left", "carried", "finished", "no_show", "revoked"},
		string(header): {"generation", "passes_from", "epoch", "version", "activated_ms", "opens_ms", "inflow"},
	} {
		for _, name := range names {
			if !strings.Contains(doc, `"`+name+`":0`) {
				t.Errorf("no %s of 0 in %s", name, doc)
			}
		}
	}
}
