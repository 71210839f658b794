package gate

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/internal/clock"
	"github.com/sluicehq/sluice/queue"
)

const (
	// tableLife is the age up to which positions are shown.
	tableLife = time.Second
	// idleTable is how long a table that nobody asks for is kept.
	idleTable = 10 * time.Second
)

// positioner is the part of a line that tables needs.
type positioner interface {
	Positions(ctx context.Context, item queue.Item) (queue.Table, error)
}

// tables keeps the position table of each line that is polled from far back: taken when it is needed and the last one
// is a second old, once for all who ask meanwhile.
type tables struct {
	line  positioner
	clock clock.Clock
	items sync.Map // queue.Item -> *table
	count atomic.Int64
}

type table struct {
	now   atomic.Pointer[taken]
	fetch sync.Mutex // held by whoever takes the next one
	// Of the last try, if it failed: those who waited for it are told the same, and do not try one after the other.
	failed   error
	failedAt time.Time
}

type taken struct {
	queue.Table
	at time.Time // before the call
}

// at gives the table of an item, at most a second old.
func (ts *tables) at(ctx context.Context, item queue.Item) (*taken, error) {
	v, ok := ts.items.Load(item)
	if !ok {
		if v, ok = ts.items.LoadOrStore(queue.Item(strings.Clone(string(item))), &table{}); !ok && ts.count.Add(1)%64 == 0 {
			ts.sweep()
		}
	}
	t := v.(*table)
	if now := t.now.Load(); ts.fresh(now) {
		return now, nil
	}
	t.fetch.Lock()
	defer t.fetch.Unlock()
	if now := t.now.Load(); ts.fresh(now) {
		return now, nil
	}
	if t.failed != nil && ts.clock.Now().Sub(t.failedAt).Abs() < storePatience {
		return nil, t.failed
	}
	// Not the caller's context alone: the others who wait here need the table too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storePatience)
	defer cancel()
	at := ts.clock.Now()
	got, err := ts.line.Positions(ctx, item)
	if t.failed, t.failedAt = err, ts.clock.Now(); err != nil {
		return nil, err
	}
	now := &taken{Table: got, at: at}
	t.now.Store(now)
	return now, nil
}

func (ts *tables) fresh(t *taken) bool {
	if t == nil {
		return false
	}
	age := ts.clock.Now().Sub(t.at)
	return age >= 0 && age < tableLife
}

// sweep drops the tables that nobody has asked for lately.
func (ts *tables) sweep() {
	now := ts.clock.Now()
	ts.items.Range(func(item, v any) bool {
		if t := v.(*table).now.Load(); t != nil && now.Sub(t.at) > idleTable {
			ts.items.Delete(item)
		}
		return true
	})
}

// shown is the position to show: the estimate, but never more than was shown before, except where the place has really
// become worse (somebody with an older ticket came back): more than 1 %, which no estimate is off by.
func shown(position, before int64) int64 {
	if before > 0 && position > before && position <= before+before/100 {
		return before
	}
	return position
}

// Far enough back to be shown an estimate. Places up to 200, or a wait of 10 s, are promised exact; the margin is for
// what moves while a table is in use.
const (
	farPosition = 220
	farWait     = 12 * time.Second
)

// far reports whether a visitor at a position may be answered from a table.
func far(position int64, eta queue.Estimate) bool {
	return position > farPosition && (!eta.Known || eta.Wait > farWait)
}
