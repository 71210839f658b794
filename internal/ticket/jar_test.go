package ticket

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
)

func itemNumber(i int) queue.Item { return queue.Item(fmt.Sprint("sku-", i)) }

func newTestJar() *Jar { return NewJar(NewVisitor(testVisitor(1), testNow.UnixMilli())) }

// reopened is the jar as the next request brings it.
func reopened(t *testing.T, k *Keyring, j *Jar, now time.Time) *Jar {
	t.Helper()
	got, err := k.OpenJar(k.SealJar(j), now)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestJar(t *testing.T) {
	t.Parallel()
	k := testRing(t, 1)
	nowMS := testNow.UnixMilli()
	stub := PassStub{Generation: 7, IssuedMS: nowMS / 1000 * 1000, EndsMS: nowMS/1000*1000 + 300_000}

	t.Run("it says what it was sealed with", func(t *testing.T) {
		t.Parallel()
		j := newTestJar()
		j.SetMark("sku-0", nowMS)
		j.SetTicket("sku-1", testTicket())
		j.SetPass("sku-2", stub)
		got := reopened(t, k, j, testNow)
		if got.Changed() {
			t.Error("just opened, it counts as changed")
		}
		if tk, ok := got.Ticket("sku-1"); !ok || tk != testTicket() {
			t.Errorf("ticket %+v, %v", tk, ok)
		}
		if p, ok := got.Pass("sku-2"); !ok || p != stub {
			t.Errorf("pass %+v, %v", p, ok)
		}
		if got.Visitor.ID != testVisitor(1) || got.Visitor.Mark("sku-0") != nowMS/1000*1000 {
			t.Errorf("visitor %+v", got.Visitor)
		}
		for _, item := range []queue.Item{"sku-0", "sku-2", "sku-3", ""} {
			if _, ok := got.Ticket(item); ok {
				t.Errorf("%q has a ticket", item)
			}
		}
		for _, item := range []queue.Item{"sku-0", "sku-1", "sku-3", ""} {
			if _, ok := got.Pass(item); ok {
				t.Errorf("%q has a pass", item)
			}
		}
		if k.SealJar(got) != k.SealJar(j) {
			t.Error("sealed again it is another value")
		}
	})
	t.Run("an item has a ticket or a pass", func(t *testing.T) {
		t.Parallel()
		j := newTestJar()
		j.SetTicket("sku-1", testTicket())
		j.SetPass("sku-1", stub)
		if _, ok := j.Ticket("sku-1"); ok {
			t.Error("inside, and still with a ticket")
		}
		j.SetTicket("sku-1", testTicket())
		if _, ok := j.Pass("sku-1"); ok {
			t.Error("in line, and still with a pass")
		}
		j.Drop("sku-1")
		if _, ok := j.Ticket("sku-1"); ok {
			t.Error("dropped, and still there")
		}
	})
	t.Run("what has expired is gone", func(t *testing.T) {
		t.Parallel()
		j := newTestJar()
		j.SetTicket("sku-1", testTicket()) // ends after 720 s
		j.SetPass("sku-2", stub)           // after 300 s and the leeway
		after := func(d time.Duration) (ticket, pass bool) {
			got := reopened(t, k, j, time.UnixMilli(stub.IssuedMS).Add(d))
			_, ticket = got.Ticket("sku-1")
			_, pass = got.Pass("sku-2")
			return ticket, pass
		}
		for _, tt := range []struct {
			after        time.Duration
			ticket, pass bool
		}{
			{304 * time.Second, true, true},
			{305 * time.Second, true, false},
			{721 * time.Second, false, false},
		} {
			if ticket, pass := after(tt.after); ticket != tt.ticket || pass != tt.pass {
				t.Errorf("after %v: ticket %v, pass %v", tt.after, ticket, pass)
			}
		}
		if _, err := k.OpenJar(k.SealJar(j), testNow.Add(VisitorLife)); !errors.Is(err, ErrExpired) {
			t.Errorf("after a year: %v", err)
		}
	})
	t.Run("an old key opens, and the cookie is set anew", func(t *testing.T) {
		t.Parallel()
		j := newTestJar()
		j.SetTicket("sku-1", testTicket())
		rotated := testRing(t, 2, 1)
		got, err := rotated.OpenJar(k.SealJar(j), testNow)
		if err != nil || !got.Changed() {
			t.Fatalf("changed %v, %v", got.Changed(), err)
		}
		if tk, ok := got.Ticket("sku-1"); !ok || tk != testTicket() {
			t.Errorf("ticket %+v, %v", tk, ok)
		}
		if again := reopened(t, rotated, got, testNow); again.Changed() {
			t.Error("and anew with every request")
		}
	})
}

func TestJarIsSetOnlyWhenItMatters(t *testing.T) {
	t.Parallel()
	k := testRing(t, 1)
	nowMS := testNow.UnixMilli()
	stub := PassStub{Generation: 7, IssuedMS: nowMS / 1000 * 1000, EndsMS: nowMS/1000*1000 + 300_000}
	later := func(d time.Duration, change func(*Ticket)) func(*Jar) {
		return func(j *Jar) {
			tk := testTicket()
			tk.Place.IssuedMS += d.Milliseconds()
			tk.EndsMS += d.Milliseconds()
			if change != nil {
				change(&tk)
			}
			j.SetTicket("sku-1", tk)
		}
	}
	for _, tt := range []struct {
		name    string
		do      func(*Jar)
		changed bool
	}{
		{"nothing was done", func(*Jar) {}, false},
		{"the same ticket", later(0, nil), false},
		{"the same place, polled 17 s later", later(17*time.Second, nil), false},
		{"the same place, polled 18 s later", later(18*time.Second, nil), true},
		{"an older ticket of the same place", later(-time.Minute, nil), false},
		{"a better position", later(time.Second, func(t *Ticket) { t.Place.ShownMost-- }), true},
		{"a score that came back", later(0, func(t *Ticket) { t.Place.Score--; t.JoinedMS = t.Place.Score / 1000 }), true},
		{"another generation", later(0, func(t *Ticket) { t.Place.Generation++ }), true},
		{"another epoch", later(0, func(t *Ticket) { t.Place.Epoch++ }), true},
		{"a longer life", later(0, func(t *Ticket) { t.EndsMS += 1000 }), true},
		{"a ticket of another item", func(j *Jar) { j.SetTicket("sku-3", testTicket()) }, true},
		{"the same pass", func(j *Jar) { j.SetPass("sku-2", stub) }, false},
		{"a renewed pass", func(j *Jar) { j.SetPass("sku-2", PassStub{7, stub.IssuedMS + 30_000, stub.EndsMS + 30_000}) }, true},
		{"the mark of the same second", func(j *Jar) { j.SetMark("sku-0", nowMS) }, false},
		{"the mark of the next second", func(j *Jar) { j.SetMark("sku-0", nowMS+1000) }, true},
		{"what was not there is dropped", func(j *Jar) { j.Drop("sku-3") }, false},
		{"what was there is dropped", func(j *Jar) { j.Drop("sku-1") }, true},
		{"a week later", func(j *Jar) { j.Renew(nowMS + 7*24*3600_000) }, false},
		{"a month later", func(j *Jar) { j.Renew(nowMS + 30*24*3600_000) }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := newTestJar()
			j.SetMark("sku-0", nowMS)
			j.SetTicket("sku-1", testTicket())
			j.SetPass("sku-2", stub)
			value := k.SealJar(j)
			got := reopened(t, k, j, testNow)
			tt.do(got)
			if got.Changed() != tt.changed || (k.SealJar(got) != value) != tt.changed {
				t.Errorf("changed: %v, want %v", got.Changed(), tt.changed)
			}
		})
	}
}

// B008: 60 places in one jar.
func TestJarHolds60Places(t *testing.T) {
	t.Parallel()
	k := testRing(t, 1)
	nowMS := testNow.UnixMilli()
	for _, tt := range []struct {
		name   string
		places int // that must fit
		ticket func(i int64) Ticket
	}{
		{"waiting since this minute", 60, func(i int64) Ticket {
			tk := testTicket()
			tk.Place.Score, tk.JoinedMS = (nowMS-i*1000)*1000+456, nowMS-i*1000
			return tk
		}},
		{"waiting for 9 hours in lines of a million", 60, func(i int64) Ticket {
			tk := testTicket()
			tk.JoinedMS = nowMS - 9*3600_000 - i*1000
			tk.Place.Score = tk.JoinedMS*1000 + 456
			tk.Place.Generation = queue.Generation(tk.JoinedMS/1000 - 3600)
			tk.Place.Epoch = -1 << 63
			tk.Place.IssuedMS -= i * 500
			tk.Place.ShownMost = 1_000_000 - i
			return tk
		}},
		{"drawn by lot", 60, func(i int64) Ticket {
			tk := testTicket()
			tk.Place.Score = queue.MaxLot - 1 - i
			tk.JoinedMS = nowMS - 3600_000 - i*1000
			tk.Place.Epoch = 1<<52 + i
			tk.Place.ShownMost = 0
			return tk
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := newTestJar()
			j.Visitor.IssuedMS -= 29 * 24 * 3600_000
			for i := range MaxMarks {
				j.SetMark(itemNumber(1000+i), nowMS-int64(i)*100_000)
			}
			for i := range 60 {
				j.SetTicket(itemNumber(i), tt.ticket(int64(i)))
			}
			value := k.SealJar(j)
			t.Logf("%d characters", len(value))
			if cookie := "sluice_visitor=" + value + "; Path=/; Domain=shop.example; Max-Age=31536000; HttpOnly; Secure; SameSite=Lax"; len(cookie) >= 4096 {
				t.Errorf("%d bytes of cookie", len(cookie))
			}
			got := reopened(t, k, j, testNow)
			for i := range 60 {
				if tk, ok := got.Ticket(itemNumber(i)); !ok || tk != tt.ticket(int64(i)) {
					t.Errorf("item %d: %+v, %v", i, tk, ok)
				}
			}
		})
	}
	t.Run("with more, those touched last stay", func(t *testing.T) {
		t.Parallel()
		j := newTestJar()
		for i := range 500 {
			j.SetTicket(itemNumber(i), testTicket())
			j.SetPass("always", PassStub{7, int64(i) * 1000, nowMS + 300_000})
		}
		if n := len(k.SealJar(j)); n > MaxJar {
			t.Errorf("%d characters", n)
		}
		got := reopened(t, k, j, testNow)
		if _, ok := got.Pass("always"); !ok {
			t.Error("the pass that was renewed all the time is gone")
		}
		if n := len(got.entries); n < 60 || n > 200 {
			t.Errorf("%d entries", n)
		}
		for i := range 500 {
			_, ok := got.Ticket(itemNumber(i))
			if want := i >= 500-len(got.entries)+1; ok != want {
				t.Errorf("item %d: %v", i, ok)
			}
		}
		if got.Visitor.ID != testVisitor(1) {
			t.Error("the visitor, who leads to all places, is gone")
		}
	})
}

// Invariant own-token, and B016.
func TestOpenJarRefuses(t *testing.T) {
	t.Parallel()
	k := testRing(t, 1)
	j := newTestJar()
	j.SetTicket("sku-1", testTicket())
	j.SetPass("sku-2", PassStub{7, testNow.UnixMilli(), testNow.UnixMilli() + 300_000})
	good := k.SealJar(j)
	hostile := garbage(good)
	hostile["another key"] = testRing(t, 2).SealJar(j)
	hostile["a visitor token"] = k.SealVisitor(&j.Visitor)
	hostile["a ticket"] = k.SealTicket("", testTicket())
	hostile["a visitor that is none"] = k.SealJar(NewJar(NewVisitor("", testNow.UnixMilli())))
	for name, value := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := k.OpenJar(value, testNow); !errors.Is(err, ErrInvalid) || got != nil {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	t.Run("every change of one character", func(t *testing.T) {
		t.Parallel()
		changed(good, func(bad string) {
			if _, err := k.OpenJar(bad, testNow); !errors.Is(err, ErrInvalid) {
				t.Errorf("%q: %v", bad, err)
			}
		})
	})
}
