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

// idleLook is how long a look that nobody asks for is kept.
const idleLook = 10 * time.Second

// lookAgain is how long after a look that failed the next one is tried.
const lookAgain = 500 * time.Millisecond

// looks keeps what was last seen of each line that is polled: taken when it is needed and the last one is too old, once
// for all who ask meanwhile.
type looks[T any] struct {
	take     func(context.Context, queue.Item) (T, error)
	life     time.Duration // the age up to which one is used
	patience time.Duration // with a take
	clock    clock.Clock
	items    sync.Map // queue.Item -> *look[T]
	count    atomic.Int64
}

type look[T any] struct {
	now   atomic.Pointer[taken[T]]
	moves atomic.Int64 // how often the line has moved, as far as this node knows
	fetch sync.Mutex   // held by whoever takes the next one
	// Of the last try, if it failed: those who waited for it are told the same, and do not try one after the other.
	failed   error
	failedAt time.Time
}

type taken[T any] struct {
	seen  T
	at    time.Time // before the call
	moves int64     // likewise
}

// at gives the look at an item that is not too old.
func (ls *looks[T]) at(ctx context.Context, item queue.Item) (seen T, err error) {
	v, ok := ls.items.Load(item)
	if !ok {
		if v, ok = ls.items.LoadOrStore(queue.Item(strings.Clone(string(item))), &look[T]{}); !ok && ls.count.Add(1)%64 == 0 {
			ls.sweep()
		}
	}
	l := v.(*look[T])
	if now := l.now.Load(); ls.fresh(l, now) {
		return now.seen, nil
	}
	l.fetch.Lock()
	defer l.fetch.Unlock()
	if now := l.now.Load(); ls.fresh(l, now) {
		return now.seen, nil
	}
	if l.failed != nil && ls.clock.Now().Sub(l.failedAt).Abs() < lookAgain {
		return seen, l.failed
	}
	// Not the caller's context alone: the others who wait here need the look too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ls.patience)
	defer cancel()
	now := &taken[T]{at: ls.clock.Now(), moves: l.moves.Load()}
	now.seen, err = ls.take(ctx, item)
	if l.failed, l.failedAt = err, ls.clock.Now(); err != nil {
		return seen, err
	}
	l.now.Store(now)
	return now.seen, nil
}

// moved makes the last look at an item too old.
func (ls *looks[T]) moved(item queue.Item) {
	if v, ok := ls.items.Load(item); ok {
		v.(*look[T]).moves.Add(1)
	}
}

func (ls *looks[T]) fresh(l *look[T], t *taken[T]) bool {
	if t == nil || t.moves != l.moves.Load() {
		return false
	}
	age := ls.clock.Now().Sub(t.at)
	return age >= 0 && age < ls.life
}

// sweep drops the looks that nobody has asked for lately.
func (ls *looks[T]) sweep() {
	now := ls.clock.Now()
	ls.items.Range(func(item, v any) bool {
		if t := v.(*look[T]).now.Load(); t != nil && now.Sub(t.at) > idleLook {
			ls.items.Delete(item)
		}
		return true
	})
}
