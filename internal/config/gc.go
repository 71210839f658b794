package config

import (
	"os"
	"runtime/debug"
)

// gcPercent: what a node keeps is small and what a request leaves behind is short-lived. Collecting a quarter as often
// as Go does by itself costs some tens of megabytes and gives 5 to 10 % more requests (docs/benchmarks.md).
const gcPercent = 400

// TuneGC sets the pace of the garbage collector for a process that serves, unless GOGC in the environment does. GOMEMLIMIT
// bounds the memory all the same: close to it Go collects as often as it must.
func TuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
