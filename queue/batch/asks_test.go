package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicehq/sluice/queue"
)

// slowLine answers an item's call when it is told to. Each answer holds the visitor's number as its score.
type slowLine struct {
	mu    sync.Mutex
	calls map[queue.Item][][]queue.Ask
	let   map[queue.Item]chan error // one value lets one call go
}

func newSlowLine(items ...queue.Item) *slowLine {
	l := &slowLine{calls: map[queue.Item][][]queue.Ask{}, let: map[queue.Item]chan error{}}
	for _, item := range items {
		l.let[item] = make(chan error)
	}
	return l
}

func (l *slowLine) Ask(ctx context.Context, item queue.Item, asks []queue.Ask) (queue.Answers, error) {
	l.mu.Lock()
	l.calls[item] = append(l.calls[item], asks)
	n := len(l.calls[item])
	l.mu.Unlock()
	select {
	case err := <-l.let[item]:
		return answers(item, int64(n), asks), err
	case <-ctx.Done():
		return queue.Answers{}, ctx.Err()
	}
}

func (l *slowLine) sizes(item queue.Item) (sizes []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, asks := range l.calls[item] {
		sizes = append(sizes, len(asks))
	}
	return sizes
}

// answers gives each ask a score made of its visitor.
func answers(item queue.Item, version int64, asks []queue.Ask) queue.Answers {
	got := queue.Answers{
		Header: queue.Header{Item: item, Version: version}, Counts: queue.Counts{Waiting: int64(len(asks))}, NowMS: version * 1000,
	}
	for _, a := range asks {
		got.Answers = append(got.Answers, queue.Answer{Outcome: queue.Waiting, Score: scoreOf(a.Visitor)})
	}
	return got
}

func visitor(i int) queue.Visitor { return queue.Visitor(fmt.Sprintf("visitor-%08d", i)) }

func scoreOf(v queue.Visitor) (n int64) {
	_, _ = fmt.Sscanf(string(v), "visitor-%d", &n)
	return n
}

// outcome is what one caller of Ask was told.
type outcome struct {
	reply Reply
	err   error
	told  chan struct{} // closed then
}

func (o *outcome) waits() bool {
	select {
	case <-o.told:
		return false
	default:
		return true
	}
}

// askers have n visitors ask one after the other, from number from on, and gives where their replies will stand.
func askers(ctx context.Context, a *Asks, item queue.Item, from, n int) []*outcome {
	var all []*outcome
	for i := range n {
		o := &outcome{told: make(chan struct{})}
		go func() {
			defer close(o.told)
			o.reply, o.err = a.Ask(ctx, item, queue.Ask{Visitor: visitor(from + i), Create: true})
		}()
		synctest.Wait()
		all = append(all, o)
	}
	return all
}

func (o *outcome) is(t *testing.T, i int, call int64) {
	t.Helper()
	if o.waits() || o.err != nil || o.reply.Answer.Score != int64(i) || o.reply.Header.Version != call || o.reply.NowMS != call*1000 {
		t.Errorf("visitor %d of call %d: %+v", i, call, *o)
	}
}

func TestWhateverCameMeanwhileIsTheNextCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		line := newSlowLine("sku-1")
		a := NewAsks(line, time.Minute)
		all := askers(t.Context(), a, "sku-1", 0, 451)
		if got := line.sizes("sku-1"); !slices.Equal(got, []int{1}) {
			t.Fatalf("calls of %d, want the first alone: one call at a time", got)
		}
		for range 6 {
			line.let["sku-1"] <- nil
			synctest.Wait()
		}
		if got := line.sizes("sku-1"); !slices.Equal(got, []int{1, 100, 100, 100, 100, 50}) {
			t.Fatalf("calls of %d", got)
		}
		want := 0
		for c, asks := range line.calls["sku-1"] {
			for _, ask := range asks {
				if ask.Visitor != visitor(want) || !ask.Create {
					t.Fatalf("call %d: %+v in place of visitor %d: first come, first asked", c, ask, want)
				}
				all[want].is(t, want, int64(c+1))
				want++
			}
		}
		late := askers(t.Context(), a, "sku-1", 1000, 1)
		line.let["sku-1"] <- nil
		synctest.Wait()
		late[0].is(t, 1000, 7)
		for i := range a.shards {
			if n := len(a.shards[i].items); n != 0 {
				t.Errorf("shard %d remembers %d items of which nobody asks", i, n)
			}
		}
	})
}

func TestACallerWhoGoesAwayTakesNoOnesAnswerAlong(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]bool{"the one who began the call": true, "one in the middle of a batch": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				line := newSlowLine("sku-1")
				a := NewAsks(line, time.Minute)
				leaving, leave := context.WithCancel(t.Context())
				ctx := func(i int) context.Context {
					if (i == 0) == first && i < 3 {
						return leaving
					}
					return t.Context()
				}
				var all []*outcome
				for i := range 5 {
					all = append(all, askers(ctx(i), a, "sku-1", i, 1)...)
				}
				leave()
				synctest.Wait()
				for range 2 {
					line.let["sku-1"] <- nil
					synctest.Wait()
				}
				for i, o := range all {
					if ctx(i) == leaving {
						if !errors.Is(o.err, queue.ErrStoreDown) || !errors.Is(o.err, context.Canceled) {
							t.Errorf("visitor %d who left: %+v", i, *o)
						}
						continue
					}
					o.is(t, i, int64(min(i, 1)+1))
				}
				if got := line.sizes("sku-1"); !slices.Equal(got, []int{1, 4}) {
					t.Errorf("calls of %d: who has asked may take effect all the same", got)
				}
			})
		})
	}
}

func TestAnErrorIsThatOfItsBatchAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		line := newSlowLine("sku-1")
		a := NewAsks(line, time.Minute)
		all := askers(t.Context(), a, "sku-1", 0, 150)
		line.let["sku-1"] <- nil
		line.let["sku-1"] <- queue.ErrStoreDown.Because(errors.New("broken"))
		line.let["sku-1"] <- nil
		synctest.Wait()
		for i, o := range all {
			switch {
			case i == 0:
				o.is(t, i, 1)
			case i > 100:
				o.is(t, i, 3)
			case !errors.Is(o.err, queue.ErrStoreDown) || o.reply != Reply{}:
				t.Errorf("visitor %d: %+v", i, *o)
			}
		}
	})
}

func TestOneItemsCallDelaysNoOther(t *testing.T) { // isolated
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var items []queue.Item
		for i := range 300 { // more than there are shards
			items = append(items, queue.Item(fmt.Sprintf("sku-%d", i)))
		}
		line := newSlowLine(items...)
		a := NewAsks(line, time.Minute)
		var all []*outcome
		for i, item := range items {
			all = append(all, askers(t.Context(), a, item, i, 1)...)
		}
		for i, item := range slices.Backward(items) { // the first to ask is the last to be answered
			line.let[item] <- nil
			synctest.Wait()
			all[i].is(t, i, 1)
			if all[i].reply.Header.Item != item {
				t.Errorf("%s: %+v", item, all[i].reply.Header)
			}
		}
	})
}

func TestACallThatTakesTooLongIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		line := newSlowLine("sku-1")
		a := NewAsks(line, 500*time.Millisecond)
		start := time.Now()
		all := askers(t.Context(), a, "sku-1", 0, 2)
		<-all[0].told
		synctest.Wait()
		if took := time.Since(start); took != 500*time.Millisecond {
			t.Fatalf("given up after %s", took)
		}
		if !errors.Is(all[0].err, context.DeadlineExceeded) || !all[1].waits() {
			t.Fatalf("%+v; the next call waits: %v, for it has a time of its own", all[0], all[1].waits())
		}
		line.let["sku-1"] <- nil
		synctest.Wait()
		all[1].is(t, 1, 2)
	})
}
