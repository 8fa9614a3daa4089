package ledger

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Work has the number of runs of a program, and the time of all runs, while [Tracepoints.CountWork] was on.
type Work struct {
	Runs  uint64
	Spent time.Duration
}

// CountWork makes the kernel count the work of BPF programs until the closer is closed (BPF_STATS_RUN_TIME, Linux 5.8).
// Each run of each program on the machine then reads the clock twice more.
func (t *Tracepoints) CountWork() (io.Closer, error) {
	c, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if err != nil {
		return nil, classify("count what the programs do", err)
	}
	return c, nil
}

// ResidentWork returns the work of the program at kmem:rss_stat, and MappedWork that of the program at
// mmap_lock:mmap_lock_released, in all processes.
func (t *Tracepoints) ResidentWork() (Work, error) { return t.work("resident") }

// MappedWork is described at [Tracepoints.ResidentWork].
func (t *Tracepoints) MappedWork() (Work, error) { return t.work("mapped") }

// work returns the work of all copies of a program. The number of runs is that of the first copy.
func (t *Tracepoints) work(program string) (w Work, err error) {
	i := slices.IndexFunc(tracepoints, func(at tracepoint) bool { return at.program == program })
	for number, p := range t.programs[i] {
		s, err := p.Stats()
		if err != nil {
			return Work{}, fmt.Errorf("ask for what a program did: %w", err)
		}
		if number == 0 {
			w.Runs = s.RunCount
		}
		w.Spent += s.Runtime
	}
	return w, nil
}
