package gate

import (
	"time"

	"github.com/sluicehq/sluice/queue"
)

// tableLife is the age up to which positions from a table are shown.
const tableLife = time.Second

// shown is the position to show: the estimate, but never more than was shown before, except where the place has really
// become worse (somebody with an older ticket came back): more than 1 %, which no estimate is off by.
func shown(position, before int64) int64 {
	if before > 0 && position > before && position <= before+before/100 {
		return before
	}
	return position
}

// Far enough back to be shown an estimate. Places up to 200, or a wait of 10 s, are promised exact; the margin is for
// what moves while a table is in use.
const (
	farPosition = 220
	farWait     = 12 * time.Second
)

// far reports whether a visitor at a position may be answered from a table.
func far(position int64, eta queue.Estimate) bool {
	return position > farPosition && (!eta.Known || eta.Wait > farWait)
}
