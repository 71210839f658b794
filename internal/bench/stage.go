package bench

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluicehq/sluice/internal/load"
)

// actor is one simulated person.
type actor interface {
	// ask gives the next request.
	ask() []byte
	// got takes the answer and says after which time to ask again; false: never.
	got(r load.Response) (after time.Duration, again bool)
}

// stage lets many actors, each at its own times, ask over few connections.
type stage struct {
	asked  atomic.Int64
	failed atomic.Int64 // answers of 400 and up, and none
	first  atomic.Value // the first failure, an error
	now    atomic.Int64 // actors on the stage

	began time.Time
	due   chan actor
	mu    sync.Mutex
	wheel [][]actor // by time slot, round
	at    int       // slots gone
}

// Slots of a stage: nobody waits longer than all of them.
const (
	stageSlot  = 10 * time.Millisecond
	stageSlots = 20_000
)

func newStage() *stage {
	return &stage{began: time.Now(), due: make(chan actor, 1<<16), wheel: make([][]actor, stageSlots)}
}

// add puts an actor on the stage, to ask after some time.
func (s *stage) add(a actor, after time.Duration) {
	s.now.Add(1)
	s.plan(a, after)
}

func (s *stage) plan(a actor, after time.Duration) {
	ahead := min(max(int(after/stageSlot), 1), stageSlots-1)
	s.mu.Lock()
	slot := (s.at + ahead) % stageSlots
	s.wheel[slot] = append(s.wheel[slot], a)
	s.mu.Unlock()
}

// play runs the stage until ctx ends.
func (s *stage) play(ctx context.Context, addrs []string, conns int) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		tick := time.NewTicker(stageSlot)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
			for target := int(time.Since(s.began) / stageSlot); ; {
				s.mu.Lock()
				if s.at >= target {
					s.mu.Unlock()
					break
				}
				s.at++
				slot := s.at % stageSlots
				actors := s.wheel[slot]
				s.wheel[slot] = nil
				s.mu.Unlock()
				for _, a := range actors {
					select {
					case s.due <- a:
					case <-ctx.Done():
						return nil
					}
				}
			}
		}
	})
	for i := range conns {
		g.Go(func() error { return s.serve(ctx, addrs[i%len(addrs)]) })
	}
	return g.Wait()
}

// serve asks for those who are due, over one connection.
func (s *stage) serve(ctx context.Context, addr string) error {
	var conn *load.Conn
	defer func() {
		if conn != nil {
			conn.Close()
		}
	}()
	for {
		var a actor
		select {
		case <-ctx.Done():
			return nil
		case a = <-s.due:
		}
		if conn == nil {
			var err error
			if conn, err = load.Dial(ctx, addr, time.Now().Add(time.Hour)); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
		}
		r, err := conn.Do(a.ask())
		if ctx.Err() != nil {
			return nil
		}
		s.asked.Add(1)
		if err != nil || r.Status >= 400 {
			s.failed.Add(1)
			if err != nil {
				s.first.CompareAndSwap(nil, err.Error())
			}
		}
		if err != nil || conn.Closes() {
			conn.Close()
			conn = nil
		}
		if err != nil {
			s.plan(a, time.Second)
			continue
		}
		if after, again := a.got(r); again {
			s.plan(a, after)
		} else {
			s.now.Add(-1)
		}
	}
}
