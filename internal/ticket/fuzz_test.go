package ticket

import (
	"strings"
	"testing"
)

// The readers get what fuzzing makes up twice: as a token, which never opens, and as the text inside a good seal, as
// another version of this program could write it.

func FuzzTicket(f *testing.F) {
	k := testRing(f, 1)
	good := k.SealTicket(testItem, testTicket())
	f.Add(good, testTicket().append(appendVisitor(nil, testVisitor(1)), 0))
	f.Add("", []byte{})
	f.Add(strings.Repeat("A", 8000), []byte{22})
	f.Fuzz(func(t *testing.T, token string, plain []byte) {
		if _, err := k.OpenTicket(testItem, token, testNow); (err == nil) != (token == good) {
			t.Errorf("%q: %v", token, err)
		}
		if tk, err := k.OpenTicket(testItem, sealed(k.rings[0].ticket, string(testItem), plain), testNow); err == nil {
			if again, err := k.OpenTicket(testItem, k.SealTicket(testItem, tk), testNow); err != nil || again != tk {
				t.Errorf("%+v, then %+v, %v", tk, again, err)
			}
		}
	})
}

func FuzzVisitor(f *testing.F) {
	k := testRing(f, 1)
	v := NewVisitor(testVisitor(1), testNow.UnixMilli())
	v.salt = [8]byte{1} // the same in every process that takes part
	v.SetMark("sku-1", testNow.UnixMilli())
	good := k.SealVisitor(v)
	f.Add(good, v.append(nil))
	f.Add("", []byte{})
	f.Add(strings.Repeat("A", 8000), []byte{12})
	f.Fuzz(func(t *testing.T, token string, plain []byte) {
		if _, err := k.OpenVisitor(token, testNow); err == nil && token != good {
			t.Errorf("%q opens", token)
		}
		if v, err := k.OpenVisitor(sealed(k.rings[0].visitor, "", plain), testNow); err == nil {
			sealed := k.SealVisitor(v)
			again, err := k.OpenVisitor(sealed, testNow)
			if err != nil || k.SealVisitor(again) != sealed {
				t.Errorf("%+v, then %+v, %v", v, again, err)
			}
		}
	})
}

func FuzzJar(f *testing.F) {
	k := testRing(f, 1)
	j := newTestJar()
	j.Visitor.salt = [8]byte{1} // the same in every process that takes part
	j.SetTicket("sku-1", testTicket())
	j.SetPass("sku-2", PassStub{7, testNow.UnixMilli(), testNow.UnixMilli() + 300_000})
	good := k.SealJar(j)
	f.Add(good, append(j.Visitor.append(nil), 0))
	f.Add("", []byte{})
	f.Add(strings.Repeat("A", 8000), []byte{12})
	f.Fuzz(func(t *testing.T, value string, plain []byte) {
		if _, err := k.OpenJar(value, testNow); err == nil && value != good {
			t.Errorf("%q opens", value)
		}
		j, err := k.OpenJar(sealed(k.rings[0].jar, "", plain), testNow)
		if err != nil {
			return
		}
		sealed := k.SealJar(j)
		if len(sealed) > MaxJar {
			t.Errorf("%d characters", len(sealed))
		}
		again, err := k.OpenJar(sealed, testNow)
		if err != nil || len(again.entries) > len(j.entries) {
			t.Errorf("%+v, then %+v, %v", j, again, err)
		}
	})
}

// sealed is a text as a token of a box.
func sealed(b *box, context string, plain []byte) string {
	w := &work{plain: plain}
	return w.seal(b, context)
}
