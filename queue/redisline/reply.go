package redisline

import (
	"strconv"

	"github.com/sluicehq/sluice/queue"
)

// reply is the answer of a script: whole numbers, and fractions and words as text.
type reply []any

func (r reply) text(i int) string {
	s, _ := r[i].(string)
	return s
}

func (r reply) int(i int) int64 {
	switch v := r[i].(type) {
	case int64:
		return v
	case string:
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	}
	return 0
}

func (r reply) float(i int) float64 {
	f, _ := strconv.ParseFloat(r.text(i), 64)
	return f
}

func (r reply) list(i int) reply {
	l, _ := r[i].([]any)
	return l
}

func (r reply) ints(i int) []int {
	l := r.list(i)
	out := make([]int, len(l))
	for k := range l {
		out[k] = int(l.int(k))
	}
	return out
}

// ReadHeader reads what the prelude's header(q) writes.
func ReadHeader(item queue.Item, r []any) queue.Header {
	f := reply(r)
	state, _ := queue.ParseState(f.text(0))
	h := queue.Header{
		Item: item, State: state,
		Generation: queue.Generation(f.int(1)), PassesFrom: queue.Generation(f.int(2)), Epoch: f.int(3), Version: f.int(4),
		Draining: f.int(5) == 1, Cause: queue.Cause(f.text(6)), By: f.text(7), Grace: f.int(8) == 1,
		ActivatedMS: f.int(9), OpensMS: f.int(10), Inflow: f.float(11),
	}
	if f.text(12) != "" {
		v := f.float(12)
		h.Override = &v
	}
	return h
}

func (r reply) counts() queue.Counts {
	return queue.Counts{
		Waiting: r.int(0), Running: r.int(1), Reserved: r.int(2),
		Joined: r.int(3), Returned: r.int(4), Restored: r.int(5), Admitted: r.int(6), Abandoned: r.int(7), Left: r.int(8),
		Carried: r.int(9), Finished: r.int(10), NoShow: r.int(11), Revoked: r.int(12),
	}
}

// story reads what story(q) of story.lua writes.
func (r reply) story() queue.Story {
	s := queue.Story{
		Trip: queue.Trip{Measure: r.float(0), Trigger: r.int(1)}, PeakWaiting: r.int(2), AtOnce: r.int(3), LongestMS: r.int(4),
	}
	for w := r.text(5); len(w) >= 3; w = w[3:] {
		s.Waits = append(s.Waits, uint32(w[0])<<16|uint32(w[1])<<8|uint32(w[2]))
	}
	return s
}
