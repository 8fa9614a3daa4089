package ledger

import (
	"fmt"
	"os"
	"strings"
)

// bootOffset is the difference, in nanoseconds, of the time since boot in this time namespace from the kernel's
// (time_namespaces(7)): /proc/PID/stat has the time of the reader's namespace. It is 0 on kernels without time
// namespaces.
func bootOffset() int64 {
	data, err := os.ReadFile("/proc/self/timens_offsets")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		var seconds, nanoseconds int64
		if n, _ := fmt.Sscanf(line, "boottime %d %d", &seconds, &nanoseconds); n == 2 {
			return seconds*1e9 + nanoseconds
		}
	}
	return 0
}
