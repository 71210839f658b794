package recent

import (
	"testing"
	"time"
)

// at gives a map whose clock is in hand.
func at(most int, keep time.Duration, part float64) (*Map[int, string], *time.Time) {
	now := time.Unix(1_796_000_000, 0)
	m := NewStaggered[int, string](most, keep, part)
	m.now = func() time.Time { return now }
	m.young.turns = now.Add(time.Duration(part * float64(keep)))
	return m, &now
}

func TestAnEntryIsKeptForItsTimeAndNotMuchLonger(t *testing.T) {
	t.Parallel()
	m, now := at(100, time.Minute, 1)
	began := *now
	m.Put(1, "one")
	for i := 2; i < 200; i++ { // one a second
		*now = now.Add(time.Second)
		m.Put(i, "")
		_, ok := m.Get(1)
		if age := now.Sub(began); age <= time.Minute && !ok || age > 2*time.Minute+time.Second && ok {
			t.Fatalf("after %v: %v", age, ok)
		}
		if m.Len() > 122 {
			t.Fatalf("%d entries", m.Len())
		}
	}
}

func TestAFullGenerationTurnsEarly(t *testing.T) {
	t.Parallel()
	m, _ := at(10, time.Hour, 1)
	for i := range 1000 {
		m.Put(i, "")
		if m.Len() > 20 {
			t.Fatalf("%d entries", m.Len())
		}
	}
	if _, ok := m.Get(999 - 9); !ok {
		t.Error("one of the newest is forgotten")
	}
}

func TestAnEntryThatIsNeededLongerKeepsItsGeneration(t *testing.T) {
	t.Parallel()
	m, now := at(1000, time.Minute, 1)
	m.PutFor(1, "one", 10*time.Minute)
	for i := 2; i < 600; i++ {
		*now = now.Add(time.Second)
		m.Put(i, "")
		if _, ok := m.Get(1); !ok {
			t.Fatalf("forgotten after %d s", i-1)
		}
	}
}

func TestRenewedKeepsWhatIsUsed(t *testing.T) {
	t.Parallel()
	m, now := at(1000, time.Minute, 1)
	m.Put(1, "one")
	for i := 2; i < 600; i++ {
		*now = now.Add(time.Second)
		m.Put(i, "")
		if v, ok := m.Renewed(1); !ok || v != "one" {
			t.Fatalf("%q, %v after %d s", v, ok, i-1)
		}
	}
}

func TestTakeGivesAnEntryOnce(t *testing.T) {
	t.Parallel()
	m, _ := at(1, time.Minute, 1)
	m.Put(1, "one")
	m.Put(2, "two") // the first is in the old generation now
	for _, k := range []int{1, 2} {
		if _, ok := m.Take(k); !ok {
			t.Errorf("%d is not there", k)
		}
		if _, ok := m.Take(k); ok {
			t.Errorf("%d comes twice", k)
		}
	}
	if m.Len() != 0 {
		t.Errorf("%d left", m.Len())
	}
}

func TestStaggeredMapsForgetOneAfterTheOther(t *testing.T) {
	t.Parallel()
	var maps []*Map[int, string]
	var clocks []*time.Time
	for i := range 10 {
		m, now := at(10_000, time.Minute, float64(i+1)/10)
		maps, clocks = append(maps, m), append(clocks, now)
	}
	least, most := 1<<30, 0
	for s := range 600 {
		total := 0
		for i, m := range maps {
			m.Put(s, "")
			*clocks[i] = clocks[i].Add(time.Second)
			total += m.Len()
		}
		if s >= 180 {
			least, most = min(least, total), max(most, total)
		}
	}
	if float64(most) > 1.15*float64(least) {
		t.Errorf("between %d and %d entries", least, most)
	}
}

func TestAChangeStartsFromWhatIsRemembered(t *testing.T) {
	t.Parallel()
	m, now := at(2, time.Hour, 1)
	longer := func(old string) string { return old + "x" }
	for i := range 6 {
		m.Change(1, time.Hour, longer)
		m.Put(100+i, "") // the generations turn meanwhile
		*now = now.Add(time.Second)
	}
	if v, _ := m.Get(1); v != "xxxxxx" {
		t.Errorf("%q", v)
	}
	seen := map[int]string{}
	m.All(func(k int, v string) {
		if _, twice := seen[k]; twice {
			t.Errorf("%d twice", k)
		}
		seen[k] = v
	})
	if seen[1] != "xxxxxx" || len(seen) > 4 {
		t.Errorf("%v", seen)
	}
}
