package pass

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"testing"
)

func TestEachWaitHasATraceOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[Trace]bool{}
	for _, id := range []Trace{
		TraceOf("a", "bc", 1), TraceOf("ab", "c", 1), TraceOf("a", "bc", 2), TraceOf("b", "bc", 1), {},
	} {
		if seen[id] {
			t.Errorf("%x comes twice", id)
		}
		seen[id] = true
	}
	if !seen[TraceOf("a", "bc", 1)] {
		t.Error("asked twice, it differs")
	}
}

func TestTheShareOfWaitsIsTraced(t *testing.T) {
	t.Parallel()
	const waits = 20_000
	before := map[int]bool{} // those traced at a smaller share
	for _, share := range []float64{0, 0.01, 0.25, 1} {
		sampled := 0
		for i := range waits {
			if TraceOf("sku-1", fmt.Sprint(i), 1).Sampled(share) {
				sampled++
				before[i] = true
			} else if before[i] {
				t.Fatalf("wait %d is traced at a smaller share and not at %g", i, share)
			}
		}
		if want := share * waits; math.Abs(float64(sampled)-want) > 4*math.Sqrt(want*(1-share)) {
			t.Errorf("%d of %d are traced, want %g", sampled, waits, want)
		}
	}
}

func TestARequestInsideNamesTheTraceOfItsWait(t *testing.T) {
	t.Parallel()
	claims := testClaims()
	of := TraceOf(claims.Item, claims.Visitor, claims.Generation)
	const own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	for _, c := range []struct {
		name, came string
		share      float64
		want       string
	}{
		{"none is traced", "", 0, ""},
		{"all are", "", 1, fmt.Sprintf("00-%x-%x-01", of.ID, of.Span)},
		{"a caller's own goes on", own, 1, own},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "/product/sku-1", nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.came != "" {
				r.Header.Set("Traceparent", c.came)
			}
			if got := traced(r, &claims, c.share).Header.Get("Traceparent"); got != c.want {
				t.Errorf("goes on with %q, want %q", got, c.want)
			}
			if got := r.Header.Get("Traceparent"); got != c.came {
				t.Errorf("the request that came has %q now", got)
			}
		})
	}
}
