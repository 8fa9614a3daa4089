package agent

import (
	"os"
	"path"
	"strings"
	"time"

	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/internal/host/process"
)

const (
	// soonest and latest bound how long after a look at a Python without IPython the next one is made: a kernel loads
	// IPython within seconds, a script may embed it at any time. A kernel by its arguments has its interpreter mapped
	// after briefest.
	briefest, soonest, latest = 50 * time.Millisecond, 500 * time.Millisecond, 5 * time.Minute
	// leastIPython is less than IPython takes as it is loaded, in bytes of resident memory.
	leastIPython = 8 << 20
	// A Python that has been looked into fewer times than youngLooks is young: its size is read each second.
	youngLooks, youngEvery = 7, time.Second
)

// backoff returns how long to wait after the n-th of several attempts.
func backoff(first time.Duration, n int) time.Duration { return min(latest, first<<min(n, 10)) }

// suspect is a process that may be, or become, a kernel.
type suspect struct {
	started uint64
	is      bool // a Python, by its name
	kernel  bool // a kernel, by the arguments with which it was executed
	born    bool // noted by the kernel half, and not looked into yet
	asked   bool // a look at it is under way
	known   bool // handed on, or of no use
	looks   int
	cuts    int       // looks that took too long
	pages   int64     // that were resident when a look was last due
	weighed time.Time // when they were read
	met     int       // how often its name was read
	read    time.Time // when it is to be read again: a shell may yet execute a Python
	next    time.Time // when to look into a Python again
}

// runsKernel reports whether the arguments of a Python run a Jupyter kernel or IPython.
func runsKernel(arguments []byte) bool {
	return process.KindOf(strings.Split(strings.TrimSuffix(string(arguments), "\x00"), "\x00")) != process.Script
}

// isYoung reports whether a Python may be loading IPython.
func (s *suspect) isYoung() bool {
	return s.is && !s.known && !s.born && s.looks < youngLooks
}

// hasEnded reports whether a suspect is no longer there.
func (s *suspect) hasEnded(fs process.FS, pid int) bool {
	stat, err := fs.Proc(pid).Stat()
	return err != nil || stat.StartTicks != s.started || stat.Ended()
}

// meet reads the name of a process's program.
func (s suspect) meet(fs process.FS, pid int, now time.Time) suspect {
	stat, err := fs.Proc(pid).Stat()
	if err != nil {
		return suspect{}
	}
	if s.started != stat.StartTicks {
		s = suspect{started: stat.StartTicks}
	}
	exe, err := fs.Proc(pid).ExeName()
	s.is = err == nil && strings.HasPrefix(path.Base(exe), "python")
	s.met++
	s.read = now.Add(backoff(soonest, s.met))
	return s
}

// weigh has a Python without IPython looked into soon if it has grown by as much as IPython takes, and by an eighth: a
// script that grows all the time is not looked into at each sweep.
func (s suspect) weigh(fs process.FS, pid int, now time.Time) suspect {
	s.weighed = now
	stat, err := fs.Proc(pid).Stat()
	if err != nil || stat.StartTicks != s.started {
		return s
	}
	if s.pages == 0 {
		s.pages = stat.ResidentPages
	}
	grown := (stat.ResidentPages - s.pages) * int64(os.Getpagesize())
	if grown >= leastIPython && stat.ResidentPages-s.pages >= s.pages/8 {
		s.pages, s.next = stat.ResidentPages, earlier(s.next, now)
	}
	return s
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// isWanted reports whether a process that was found is to be followed. A kernel is before it has loaded IPython.
func isWanted(p *inventory.Python) bool {
	return p.IPython != "" || (p.Worker || p.Kernel) && p.Python != ""
}
