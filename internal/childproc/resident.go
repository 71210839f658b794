package childproc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ResidentMB is the memory that a process holds, in MB (10^6 B); 0 where the system does not say.
func ResidentMB(pid int) float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(raw), "VmRSS:")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseFloat(fields[0], 64)
	return kib * 1024 / 1e6
}
