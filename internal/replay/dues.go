package replay

import "container/heap"

// never, in ms, is later than everything that happens (the year 287,000), and in µs it still is a number.
const never = 9_000_000_000_000_000

// dues says which item is due next: a heap of plans. A plan that its item has changed is stale and is skipped.
type dues struct{ plans plans }

type due struct {
	ms int64
	it *item
}

// plan notes the item's dueMS.
func (d *dues) plan(it *item) {
	if it.dueMS < never {
		heap.Push(&d.plans, due{it.dueMS, it})
	}
}

// next takes out the first item that is due at or before ms; nil where none is.
func (d *dues) next(ms int64) *item {
	for len(d.plans) > 0 && d.plans[0].ms <= ms {
		if p := heap.Pop(&d.plans).(due); p.it.dueMS == p.ms {
			return p.it
		}
	}
	return nil
}

// plans implements heap.Interface: by time, then by the items' order of appearance.
type plans []due

func (p plans) Len() int { return len(p) }
func (p plans) Less(i, j int) bool {
	return p[i].ms < p[j].ms || p[i].ms == p[j].ms && p[i].it.number < p[j].it.number
}
func (p plans) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p *plans) Push(x any)   { *p = append(*p, x.(due)) }
func (p *plans) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}
