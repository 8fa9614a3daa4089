package process

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// LastRan returns for how long the process's main thread has not run, by /proc/PID/sched. It works on strangers'
// processes. ok is false where the kernel does not tell. A process that computes has run now; one that waits for its
// next cell ran when the last one ended.
func (p Proc) LastRan() (ago time.Duration, ok bool) {
	then, ok := p.lastRun()
	now, known := p.fs.Proc(os.Getpid()).lastRun()
	return max(0, now-then), ok && known
}

// lastRun returns the time at which the main thread was last seen running, by the scheduler's clock.
func (p Proc) lastRun() (time.Duration, bool) {
	data, _, err := p.read("sched", maxStat)
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(data) {
		name, value, found := bytes.Cut(line, []byte(":"))
		if !found || string(bytes.TrimSpace(name)) != "se.exec_start" {
			continue
		}
		ms, err := strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
		if err != nil || !(ms > 0 && ms < 1e12) {
			return 0, false
		}
		return time.Duration(ms * float64(time.Millisecond)), true
	}
	return 0, false
}
