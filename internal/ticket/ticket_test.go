package ticket

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/queue"
	"pgregory.net/rapid"
)

const testItem = queue.Item("sku-1")

func testTicket() Ticket {
	ms := testNow.UnixMilli()
	return Ticket{
		Visitor: testVisitor(1),
		Place: queue.Ticket{
			Generation: queue.Generation(ms/1000 - 600),
			Epoch:      0x1234567890abcd,
			Score:      (ms-300_000)*1000 + 456,
			IssuedMS:   ms,
			ShownMost:  1042,
		},
		JoinedMS: ms - 300_000,
		EndsMS:   ms + 720_000,
	}
}

// garbage is what B016 sends in place of a token.
func garbage(good string) map[string]string {
	return map[string]string{
		"nothing":                           "",
		"a dot":                             ".",
		"two dots":                          "..",
		"letters and dots":                  "a.b.c",
		"an empty object":                   "e30.e30.",
		"a flood of letters":                strings.Repeat("A", 8000),
		"bytes that are no text":            "\x00\xff",
		"a trailing space":                  good + " ",
		"a trailing line break":             good + "\n",
		"a line break inside":               good[:8] + "\r\n" + good[8:],
		"padding":                           good + "=",
		"more of it":                        good + "AAAA",
		"less of it":                        good[:len(good)-4],
		"one character":                     good[:1],
		"the version alone":                 "AQ",
		"the version and a tag":             "AQ" + strings.Repeat("A", 21),
		"another version":                   "Ag" + good[2:],
		"zeros":                             strings.Repeat("A", len(good)),
		"the standard alphabet":             strings.NewReplacer("-", "+", "_", "/").Replace(good[:len(good)-1]) + "+",
		"the token twice":                   good + good,
		"the token twice, as two of a list": good + "," + good,
	}
}

// changed calls try with every token that differs from good in one character.
func changed(good string, try func(bad string)) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for i := range len(good) {
		replacements := "A_+/=. \n\x00\xff"
		if i == len(good)-1 {
			replacements = alphabet // some of these differ only in bits that no byte has
		}
		for _, r := range []byte(replacements) {
			if r != good[i] {
				try(good[:i] + string([]byte{r}) + good[i+1:])
			}
		}
	}
}

func TestTicket(t *testing.T) {
	t.Parallel()
	k := testRing(t, 1)

	t.Run("it says what it was sealed with", func(t *testing.T) {
		t.Parallel()
		got, err := k.OpenTicket(testItem, k.SealTicket(testItem, testTicket()), testNow)
		if err != nil || got != testTicket() {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("it is short", func(t *testing.T) {
		t.Parallel()
		lot := testTicket()
		lot.Place.Score = queue.MaxLot - 1
		for _, tk := range []Ticket{testTicket(), lot} {
			if n := len(k.SealTicket(testItem, tk)); n > 90 {
				t.Errorf("%d characters", n)
			}
		}
	})
	t.Run("it ends when it says", func(t *testing.T) {
		t.Parallel()
		token := k.SealTicket(testItem, testTicket())
		end := time.UnixMilli(testTicket().EndsMS)
		if _, err := k.OpenTicket(testItem, token, end.Add(-time.Millisecond)); err != nil {
			t.Error(err)
		}
		if _, err := k.OpenTicket(testItem, token, end); !errors.Is(err, ErrExpired) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("it says whose it is, so that another visitor cannot use it", func(t *testing.T) { // B011
		t.Parallel()
		got, err := k.OpenTicket(testItem, k.SealTicket(testItem, testTicket()), testNow)
		if err != nil || got.Visitor != testVisitor(1) {
			t.Errorf("got %v, %v", got.Visitor, err)
		}
	})
	t.Run("another key signs on, the old one opens", func(t *testing.T) { // B104
		t.Parallel()
		token := testRing(t, 1).SealTicket(testItem, testTicket())
		for _, numbers := range [][]byte{{1, 2}, {2, 1}, {3, 2, 1}} {
			got, err := testRing(t, numbers...).OpenTicket(testItem, token, testNow)
			if err != nil || got != testTicket() {
				t.Errorf("%v: got %+v, %v", numbers, got, err)
			}
		}
	})
	t.Run("a lot cannot be read in it, and outlives a change of keys", func(t *testing.T) {
		t.Parallel()
		tk := testTicket()
		tk.Place.Score = k.Lot(testItem, tk.Place.Generation, tk.Visitor)
		a := k.SealTicket(testItem, tk)
		tk.Place.ShownMost++
		b := k.SealTicket(testItem, tk)
		for i := 4; i < len(a); i++ { // the version, and then nothing in common
			if i+6 <= len(a) && a[i:i+6] == b[i:i+6] {
				t.Errorf("%s and %s show the same text", a, b)
			}
		}
		got, err := testRing(t, 2, 1).OpenTicket(testItem, a, testNow)
		if err != nil || got.Place.Score != tk.Place.Score || got.JoinedMS != tk.JoinedMS {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// Invariant own-token, and B016.
func TestOpenTicketRefuses(t *testing.T) {
	t.Parallel()
	k := testRing(t, 1)
	good := k.SealTicket(testItem, testTicket())
	hostile := garbage(good)
	hostile["another key"] = testRing(t, 2).SealTicket(testItem, testTicket())
	hostile["another item"] = k.SealTicket("sku-2", testTicket())
	hostile["an item in other letters"] = k.SealTicket("SKU-1", testTicket())
	hostile["no item"] = k.SealTicket("", testTicket())
	hostile["a visitor token"] = k.SealVisitor(NewVisitor(testVisitor(1), testNow.UnixMilli()))
	hostile["a cookie"] = k.SealJar(NewJar(NewVisitor(testVisitor(1), testNow.UnixMilli())))
	hostile["nobody's"] = k.SealTicket(testItem, Ticket{EndsMS: testTicket().EndsMS})
	for name, token := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := k.OpenTicket(testItem, token, testNow); !errors.Is(err, ErrInvalid) || got != (Ticket{}) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	t.Run("every change of one character", func(t *testing.T) {
		t.Parallel()
		changed(good, func(bad string) {
			if _, err := k.OpenTicket(testItem, bad, testNow); !errors.Is(err, ErrInvalid) {
				t.Errorf("%q: %v", bad, err)
			}
		})
	})
}

// drawTicket gives any ticket, with numbers that nobody would think of too.
func drawTicket(rt *rapid.T) Ticket {
	number := rapid.Int64()
	tk := Ticket{
		Visitor: drawVisitor(rt),
		Place: queue.Ticket{
			Generation: queue.Generation(number.Draw(rt, "generation")),
			Epoch:      number.Draw(rt, "epoch"),
			Score:      rapid.OneOf(number, rapid.Int64Range(0, queue.MaxLot+1)).Draw(rt, "score"),
			IssuedMS:   number.Draw(rt, "issued"),
			ShownMost:  number.Draw(rt, "shown"),
		},
		EndsMS: number.Draw(rt, "ends"),
	}
	tk.JoinedMS = rapid.OneOf(number, rapid.Just(tk.Place.Score/1000)).Draw(rt, "joined")
	return tk
}

func drawVisitor(rt *rapid.T) queue.Visitor {
	return queue.Visitor(rapid.StringMatching(`[A-Za-z0-9_-]{16,22}`).Draw(rt, "visitor"))
}

func TestAnyTicketComesBackAsItWas(t *testing.T) {
	t.Parallel()
	k := testRing(t, 1)
	rapid.Check(t, func(rt *rapid.T) {
		want := drawTicket(rt)
		item := queue.Item(rapid.StringMatching(`[A-Za-z0-9._~:@-]{1,128}`).Draw(rt, "item"))
		token := k.SealTicket(item, want)
		before := time.UnixMilli(want.EndsMS - 1)
		if want.EndsMS-1 > want.EndsMS || before.UnixMilli() != want.EndsMS-1 {
			rt.Skip("an end before all time")
		}
		got, err := k.OpenTicket(item, token, before)
		if err != nil || got != want {
			rt.Fatalf("got %+v, %v; want %+v", got, err, want)
		}
		if again := k.SealTicket(item, got); again != token {
			rt.Fatalf("sealed again it is another token")
		}
	})
}
