package ticket

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
)

func TestVisitor(t *testing.T) {
	t.Parallel()
	k := testRing(t, 1)
	nowMS := testNow.UnixMilli()

	t.Run("a token says what it was sealed with", func(t *testing.T) {
		t.Parallel()
		for _, id := range []queue.Visitor{testVisitor(1), "visitor-00000001", "a-visitor-of-22-chars_"} {
			v := NewVisitor(id, nowMS)
			v.SetMark("sku-1", nowMS-5000)
			v.SetMark("sku-2", nowMS)
			token := k.SealVisitor(v)
			got, err := k.OpenVisitor(token, testNow)
			if err != nil {
				t.Fatal(err)
			}
			if got.ID != id || got.IssuedMS != nowMS || got.Mark("sku-1") != (nowMS-5000)/1000*1000 || got.Mark("sku-2") != nowMS/1000*1000 {
				t.Errorf("got %+v", got)
			}
			if got.Mark("sku-3") != 0 {
				t.Error("an item never seen has a mark")
			}
			if again := k.SealVisitor(got); again != token {
				t.Error("sealed again it is another token")
			}
		}
	})
	t.Run("it keeps the marks of the last items", func(t *testing.T) {
		t.Parallel()
		v := NewVisitor(testVisitor(1), nowMS)
		for i := range 100 {
			v.SetMark(queue.Item(fmt.Sprint("sku-", i)), nowMS+int64(i)*1000)
			v.SetMark("always", nowMS+int64(i)*1000)
		}
		token := k.SealVisitor(v)
		got, err := k.OpenVisitor(token, testNow)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			kept := got.Mark(queue.Item(fmt.Sprint("sku-", i))) != 0
			if want := i >= 100-(MaxMarks-1); kept != want {
				t.Errorf("item %d: %v", i, kept)
			}
		}
		if got.Mark("always") != (nowMS+99_000)/1000*1000 {
			t.Error("the mark that was renewed all the time is gone")
		}
		if len(token) > maxVisitorToken/2 {
			t.Errorf("%d characters", len(token))
		}
	})
	t.Run("a mark moves forward only, by whole seconds", func(t *testing.T) {
		t.Parallel()
		v := NewVisitor(testVisitor(1), nowMS)
		for _, tt := range []struct {
			ms      int64
			changed bool
		}{{10_000, true}, {10_999, false}, {9_000, false}, {11_000, true}} {
			if v.SetMark("sku-1", tt.ms) != tt.changed {
				t.Errorf("%d: changed is not %v", tt.ms, tt.changed)
			}
		}
		if got := v.Mark("sku-1"); got != 11_000 {
			t.Errorf("got %d", got)
		}
	})
	t.Run("it is good for a year, and renewed after a month", func(t *testing.T) {
		t.Parallel()
		v := NewVisitor(testVisitor(1), nowMS)
		token := k.SealVisitor(v)
		if _, err := k.OpenVisitor(token, testNow.Add(VisitorLife-time.Millisecond)); err != nil {
			t.Error(err)
		}
		if _, err := k.OpenVisitor(token, testNow.Add(VisitorLife)); !errors.Is(err, ErrExpired) {
			t.Errorf("got %v", err)
		}
		month := 30 * 24 * time.Hour.Milliseconds()
		if v.Renew(nowMS+month-1) || !v.Renew(nowMS+month) || v.Renew(nowMS+month) || v.IssuedMS != nowMS+month {
			t.Errorf("renewed at %d", v.IssuedMS)
		}
	})
	t.Run("two visitors do not name an item alike", func(t *testing.T) {
		t.Parallel()
		a, b := NewVisitor(testVisitor(1), nowMS), NewVisitor(testVisitor(1), nowMS)
		if a.name("sku-1") == b.name("sku-1") {
			t.Error("a visitor could look for items that are taken for one another")
		}
	})
	t.Run("an old key opens", func(t *testing.T) {
		t.Parallel()
		if v, err := testRing(t, 2, 1).OpenVisitor(k.SealVisitor(NewVisitor(testVisitor(1), nowMS)), testNow); err != nil || v.ID != testVisitor(1) {
			t.Errorf("got %v, %v", v, err)
		}
	})
}

// B016
func TestOpenVisitorRefuses(t *testing.T) {
	t.Parallel()
	k := testRing(t, 1)
	v := NewVisitor(testVisitor(1), testNow.UnixMilli())
	v.SetMark("sku-1", testNow.UnixMilli())
	good := k.SealVisitor(v)
	hostile := garbage(good)
	hostile["another key"] = testRing(t, 2).SealVisitor(v)
	hostile["a ticket"] = k.SealTicket("", testTicket())
	hostile["a cookie"] = k.SealJar(NewJar(v))
	hostile["a visitor that is none"] = k.SealVisitor(NewVisitor("short", testNow.UnixMilli()))
	hostile["no visitor"] = k.SealVisitor(NewVisitor("", testNow.UnixMilli()))
	for name, token := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := k.OpenVisitor(token, testNow); !errors.Is(err, ErrInvalid) || got != nil {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	t.Run("every change of one character", func(t *testing.T) {
		t.Parallel()
		changed(good, func(bad string) {
			if _, err := k.OpenVisitor(bad, testNow); !errors.Is(err, ErrInvalid) {
				t.Errorf("%q: %v", bad, err)
			}
		})
	})
}
