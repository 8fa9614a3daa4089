package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"
)

// watchHighWater reads the largest resident memory of a tracer until it has ended, and then sends it, in bytes.
func watchHighWater(tr *trace) <-chan int64 {
	out := make(chan int64, 1)
	go func() {
		var last int64
		for {
			if now, ok := highWater(tr.cmd.Process.Pid); ok {
				last = now
			}
			select {
			case <-tr.ended:
				out <- last
				return
			case <-time.After(2 * time.Millisecond): // it rises until the end
			}
		}
	}()
	return out
}

var vmHWM = regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`)

// highWater returns the largest resident memory that a process has had (VmHWM of proc_pid_status(5)), in bytes; false
// if it cannot be read.
func highWater(pid int) (int64, bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	m := vmHWM.FindSubmatch(data)
	if m == nil {
		return 0, false
	}
	kib, err := strconv.ParseInt(string(m[1]), 10, 64)
	return kib << 10, err == nil
}
