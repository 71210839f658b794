package ticket

import (
	"testing"
)

func BenchmarkTicket(b *testing.B) {
	k := testRing(b, 1)
	token := k.SealTicket(testItem, testTicket())
	b.Run("seal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			k.SealTicket(testItem, testTicket())
		}
	})
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := k.OpenTicket(testItem, token, testNow); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("open a forged one", func(b *testing.B) {
		forged := testRing(b, 2).SealTicket(testItem, testTicket())
		b.ReportAllocs()
		for b.Loop() {
			if _, err := k.OpenTicket(testItem, forged, testNow); err == nil {
				b.Fatal("it opens")
			}
		}
	})
}

func BenchmarkVisitor(b *testing.B) {
	k := testRing(b, 1)
	v := NewVisitor(testVisitor(1), testNow.UnixMilli())
	v.SetMark(testItem, testNow.UnixMilli())
	token := k.SealVisitor(v)
	b.Run("seal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			k.SealVisitor(v)
		}
	})
	b.Run("open", func(b *testing.B) {
		var again Visitor
		b.ReportAllocs()
		for b.Loop() {
			if err := k.ReadVisitor(&again, token, testNow); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("mark", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v.Mark(testItem)
		}
	})
}

func BenchmarkJar(b *testing.B) {
	k := testRing(b, 1)
	for _, tt := range []struct {
		name  string
		items int
	}{{"1 place", 1}, {"60 places", 60}} {
		j := newTestJar()
		for i := range tt.items {
			j.SetTicket(itemNumber(i), testTicket())
		}
		value := k.SealJar(j)
		b.Run(tt.name+", seal", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				k.SealJar(j)
			}
		})
		b.Run(tt.name+", open", func(b *testing.B) {
			var again Jar
			b.ReportAllocs()
			for b.Loop() {
				if err := k.ReadJar(&again, value, testNow); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPassID(b *testing.B) {
	k := testRing(b, 1)
	b.ReportAllocs()
	for b.Loop() {
		k.PassID(testItem, testVisitor(1), 7, 1796122800)
	}
}
