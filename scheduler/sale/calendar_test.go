package sale

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// planned is a sale of a minute from an instant on.
func planned(id string, item queue.Pattern, opens time.Time) Sale {
	return Sale{ID: id, Name: id, Item: item, OpensMS: opens.UnixMilli(), ClosesMS: opens.Add(time.Minute).UnixMilli(), TimeZone: "UTC"}
}

func TestTheSaleOfAnIDWinsOverThatOfAPattern(t *testing.T) {
	t.Parallel()
	c := NewCalendar([]Sale{planned("all", "concert-*", noon), planned("one", "concert-7", noon.Add(30*time.Second))})
	for _, tc := range []struct {
		item  queue.Item
		after time.Duration
		want  string
	}{
		{"concert-7", -time.Millisecond, ""},
		{"concert-7", 0, "all"},
		{"concert-7", 30 * time.Second, "one"},
		{"concert-8", 30 * time.Second, "all"},
		{"concert-8", time.Minute, ""},
		{"concert-7", time.Minute, "one"},
		{"concert-7", 90 * time.Second, ""},
		{"other", 0, ""},
	} {
		got := ""
		if a := c.On(tc.item, noon.Add(tc.after).UnixMilli()); a != nil {
			got = a.ID
		}
		if got != tc.want {
			t.Errorf("%s after %v: %q, want %q", tc.item, tc.after, got, tc.want)
		}
	}
}

func TestTheMarkOfAnOccurrenceIsReadBackWhateverTheName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Friday", "a (b@1) c", "(((", "@", "금요일 세일"} {
		s := planned("black-friday_1", "a", noon)
		s.Name = name
		c := NewCalendar([]Sale{s})
		a := c.On("a", noon.UnixMilli())
		if a == nil {
			t.Fatal(name, c.Broken())
		}
		if id, opens := ByOf(a.By()); id != s.ID || opens != s.OpensMS {
			t.Errorf("%q: %s at %d", a.By(), id, opens)
		}
	}
	for _, by := range []string{"", "kim", "(", "(a@x)"} {
		if id, opens := ByOf(by); id != "" || opens != 0 {
			t.Errorf("%q: %s at %d", by, id, opens)
		}
	}
}

func BenchmarkOnAmongAThousandSales(b *testing.B) {
	var sales []Sale
	for i := range 1000 {
		item := queue.Pattern(fmt.Sprintf("item-%d", i))
		if i%10 == 0 {
			item += "-*"
		}
		sales = append(sales, planned(fmt.Sprintf("s%d", i), item, noon))
	}
	c, ms := NewCalendar(sales), noon.UnixMilli()
	items := []queue.Item{"item-1", "item-500-x", "elsewhere", "item-999"}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		c.On(items[i%len(items)], ms)
		i++
	}
}
