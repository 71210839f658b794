package ticket

import (
	"bytes"
	"crypto/cipher"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestXorIsCounterMode(t *testing.T) {
	t.Parallel()
	b := newBox([]byte(testSecret(1)), "test")
	rapid.Check(t, func(rt *rapid.T) {
		// The last bytes below the top: past it the standard's counter carries on into the first half.
		iv := append(rapid.SliceOfN(rapid.Byte(), 15, 15).Draw(rt, "iv"), 0)
		iv[8] &= 0x7f
		text := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(rt, "text")
		want, got := make([]byte, len(text)), make([]byte, len(text))
		cipher.NewCTR(b.cipher, iv).XORKeyStream(want, text)
		new(work).xor(b.cipher, got, text, iv)
		if !bytes.Equal(got, want) {
			rt.Fatalf("got %x, want %x", got, want)
		}
	})
}

// People stand in line with tokens of the version before: they must open.
func TestTokensOfThisVersionStayReadable(t *testing.T) {
	t.Parallel()
	k := testRing(t, 1)
	const token = "AdhJgbgVS90jl49h9wmBWtWrqjgAEeGbgM4uq_Sm61hlzdFgIIDKU_WzqnR0mRhb9TkUbsfwGEsf"
	if got := k.SealTicket(testItem, testTicket()); got != token {
		t.Errorf("sealed: %s", got)
	}
	if got, err := k.OpenTicket(testItem, token, testNow); err != nil || got != testTicket() {
		t.Errorf("opened: %+v, %v", got, err)
	}
}

func TestManyMayUseOneKeyring(t *testing.T) {
	t.Parallel()
	k := testRing(t, 1, 2)
	var wg sync.WaitGroup
	for g := range byte(4) {
		wg.Go(func() {
			for i := range 200 {
				want := testTicket()
				want.Visitor, want.Place.ShownMost = testVisitor(g), int64(i)
				if got, err := k.OpenTicket(testItem, k.SealTicket(testItem, want), testNow); err != nil || got != want {
					t.Errorf("got %+v, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}
