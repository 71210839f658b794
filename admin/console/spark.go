package console

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluicehq/sluice/admin/live"
)

// spark is a small drawing of the people who waited in the last hour, 100 wide and 20 high.
type spark struct {
	Line, Area string // paths of an SVG
	Peak       int64
}

func newSpark(samples []live.Sample, now time.Time) spark {
	var s spark
	if len(samples) < 2 {
		return s
	}
	for _, x := range samples {
		s.Peak = max(s.Peak, int64(x.Waiting))
	}
	from := now.Add(-live.Span).UnixMilli()
	var b strings.Builder
	var first, last float64
	for i, x := range samples {
		at := max(0, 100*float64(x.AtMS-from)/float64(live.Span.Milliseconds()))
		high := 19.0
		if s.Peak > 0 {
			high = 19 - 18*float64(x.Waiting)/float64(s.Peak)
		}
		if i == 0 {
			first = at
			fmt.Fprintf(&b, "M%.1f %.1f", at, high)
			continue
		}
		fmt.Fprintf(&b, "L%.1f %.1f", at, high)
		last = at
	}
	s.Line = b.String()
	s.Area = fmt.Sprintf("%sL%.1f 20L%.1f 20Z", s.Line, last, first)
	return s
}
