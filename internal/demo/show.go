package demo

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// steps is how many things there are to see.
const steps = 8

// patience is how long one step may take.
const patience = 45 * time.Second

// stage tells what happens, a line at a time.
type stage struct {
	out   io.Writer
	node  *node
	crowd *crowd
	began time.Time
	step  int
	drawn time.Time // of the last line of figures
}

// show plays the surge, and fails where something that was to be seen did not happen.
func show(ctx context.Context, out io.Writer, n *node, at Addresses) error {
	ctx, cancel := context.WithCancel(ctx)
	c := &crowd{node: n}
	defer c.people.Wait()
	defer cancel()
	s := &stage{out: out, node: n, crowd: c, began: time.Now()}
	s.print("Sluice: a shop, a crowd of %d people, and a queue that comes and goes by itself.\n\n"+
		"  shop          %s\n  waiting page  %s\n  console       %s\n\n"+
		"Open them while it runs; the link to the console signs in once.\n\n", surgePeople, at.Shop, at.Wait, at.Console)
	c.people.Go(func() {
		c.come(ctx, calmPerSecond, calmFor)
		c.come(ctx, surgePerSecond, surgeFor)
	})
	return s.play(ctx)
}

// The crowd: a few at first, then far more than the inflow.
const (
	calmPerSecond, calmFor   = 4, 4 * time.Second
	surgePerSecond, surgeFor = 40, 7 * time.Second
	surgePeople              = surgePerSecond * int(surgeFor/time.Second)
	longLine                 = 100
)

func (s *stage) play(ctx context.Context) error {
	if _, err := s.until(ctx, func(live) bool { return s.crowd.traffic() >= 2*calmPerSecond }); err != nil {
		return err
	}
	s.tell("calm", "%d checks in %d s, the trigger is %d: everybody passes", s.crowd.traffic(), windowSec, trigger)

	if _, err := s.until(ctx, func(live) bool { return s.crowd.traffic() >= trigger/2 }); err != nil {
		return err
	}
	s.tell("traffic rises", "%d checks in %d s, and more each moment", s.crowd.traffic(), windowSec)

	on, err := s.until(ctx, func(l live) bool { return l.State == "open" })
	if err != nil {
		return err
	}
	s.tell("queue on", "past %d: the queue turned itself on (by the %s); %d people a second are let in", trigger, on.Cause, inflow)

	line, err := s.until(ctx, func(l live) bool { return l.Waiting >= longLine })
	if err != nil {
		return err
	}
	s.tell("line grows", "%d people wait, each at a place of their own", line.Waiting)

	// From one change of the count to another, so that the tick in which it was looked at does not matter.
	first, from, err := s.admission(ctx, 0)
	if err != nil {
		return err
	}
	last, to, err := s.admission(ctx, first+8*inflow)
	if err != nil {
		return err
	}
	rate := float64(last-first) / to.Sub(from).Seconds()
	s.tell("inflow holds", "%d people let in within %.1f s: %.1f/s measured, %d/s set", last-first, to.Sub(from).Seconds(), rate, inflow)

	done, err := s.until(ctx, func(l live) bool { return l.Books.Finished >= 5*inflow })
	if err != nil {
		return err
	}
	s.tell("people finish", "%d have bought and gone; their slots are free at once", done.Books.Finished)

	if _, err := s.until(ctx, func(l live) bool { return l.Waiting == 0 }); err != nil {
		return err
	}
	s.tell("line is empty", "the last one in line has been let in")

	if _, err := s.until(ctx, func(l live) bool { return l.State == "off" }); err != nil {
		return err
	}
	s.tell("queue off", "%d s of quiet: the queue turned itself off", quietSec)
	return s.sum()
}

// admission waits until more than n people have been let in, and gives how many and when.
func (s *stage) admission(ctx context.Context, n int64) (int64, time.Time, error) {
	start, err := s.node.live(ctx)
	if err != nil {
		return 0, time.Time{}, err
	}
	n = max(n, start.Books.Admitted+1)
	l, err := s.until(ctx, func(l live) bool { return l.Books.Admitted >= n })
	return l.Books.Admitted, time.Now(), err
}

// until looks at the item until what is awaited is there, and draws a line of figures each second.
func (s *stage) until(ctx context.Context, there func(live) bool) (live, error) {
	late := time.Now().Add(patience)
	for {
		l, err := s.node.live(ctx)
		if err != nil {
			return l, err
		}
		if time.Since(s.drawn) >= time.Second {
			s.draw(l)
			s.drawn = time.Now()
		}
		if there(l) {
			return l, nil
		}
		if time.Now().After(late) {
			return l, fmt.Errorf("step %d did not come in %v; the item: %+v", s.step+1, patience, l)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return l, err
		}
	}
}

// tell announces a step. Its number and its name are fixed; a test reads them.
func (s *stage) tell(name, format string, args ...any) {
	s.step++
	s.print("\n%d/%d %-14s %s\n", s.step, steps, name, fmt.Sprintf(format, args...))
}

// draw writes one line of figures: plain text that scrolls, with or without a terminal.
func (s *stage) draw(l live) {
	traffic := s.crowd.traffic()
	s.print("  %3.0f s  traffic %4d/%ds %-10s  waiting %4d %-20s  inside %3d  done %4d\n",
		time.Since(s.began).Seconds(), traffic, windowSec, bar(traffic, 20), l.Waiting, bar(int(l.Waiting), 10), l.Running, s.crowd.done.Load())
}

// bar draws one block for each unit.
func bar(x, unit int) string {
	return strings.Repeat("█", min(x/unit, 20))
}

// sum says how it was for the people.
func (s *stage) sum() error {
	came, waits, err := s.crowd.seen()
	if err != nil {
		return fmt.Errorf("a visitor: %w", err)
	}
	if len(waits) == 0 {
		return fmt.Errorf("nobody waited")
	}
	slices.SortFunc(waits, func(a, b wait) int { return cmp.Compare(a.took, b.took) })
	longest := waits[len(waits)-1]
	s.print("\n%d people came, %d waited, the longest for %.0f s; when that one joined, the waiting page said %.0f s.\n",
		came, len(waits), longest.took.Seconds(), longest.told.Seconds())
	return nil
}

func (s *stage) print(format string, args ...any) {
	// Nobody is left to tell where the output is gone.
	_, _ = fmt.Fprintf(s.out, format, args...)
}
