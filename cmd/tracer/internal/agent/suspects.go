package agent

import (
	"os"
	"path"
	"strings"
	"time"

	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/internal/host/commandline"
	"ipytracer/internal/host/process"
)

const (
	// The time from one look at a Python without IPython to the next grows from soonest to latest: a kernel loads
	// IPython within seconds, a script may embed it at any time. For a process with a kernel's arguments it grows from
	// briefest, in which its interpreter is mapped.
	briefest, soonest, latest = 50 * time.Millisecond, 500 * time.Millisecond, 5 * time.Minute
	// leastIPython is less than the resident memory, in bytes, by which a process grows when it loads IPython.
	leastIPython = 8 << 20
	// A Python is young until its youngLooks-th look. While it is young, its size is read every youngEvery.
	youngLooks, youngEvery = 7, time.Second
)

// backoff returns how long to wait after attempt n, from 0: the double each time, up to latest.
func backoff(first time.Duration, n int) time.Duration { return min(latest, first<<min(n, 10)) }

// suspect is a process that may be, or become, a kernel.
type suspect struct {
	started     uint64 // as [process.Identity.StartTicks]
	isPython    bool   // by the name of its program
	isKernel    bool   // by the arguments with which it was executed
	newborn     bool   // noted by the kernel half, and too young for a look
	lookPending bool   // a look at it is under way
	handedOn    bool   // it was found to be a kernel
	looks       int    // that found no kernel
	cuts        int    // looks that took too long

	residentPages int64     // when its growth last caused a look
	sizeRead      time.Time // when its size was last read
	nameReads     int       // how often its name was read
	nextNameRead  time.Time // a shell may yet execute a Python
	nextLook      time.Time
}

// runsKernel reports whether the arguments of a Python run a Jupyter kernel or IPython.
func runsKernel(arguments []byte) bool {
	args := strings.Split(strings.TrimSuffix(string(arguments), "\x00"), "\x00")
	return commandline.KindOf(args) != commandline.Script
}

// isYoung reports whether a Python may be loading IPython.
func (s *suspect) isYoung() bool {
	return s.isPython && !s.handedOn && !s.newborn && s.looks < youngLooks
}

// hasEnded reports whether a suspect is no longer there.
func (s *suspect) hasEnded(fs process.FS, pid int) bool {
	stat, err := fs.Proc(pid).Stat()
	return err != nil || stat.StartTicks != s.started || stat.Ended()
}

// readName returns the suspect with isPython by the present name of the process's program.
func (s suspect) readName(fs process.FS, pid int, now time.Time) suspect {
	stat, err := fs.Proc(pid).Stat()
	if err != nil {
		return suspect{}
	}
	if s.started != stat.StartTicks {
		s = suspect{started: stat.StartTicks}
	}
	exe, err := fs.Proc(pid).ExeName()
	s.isPython = err == nil && strings.HasPrefix(path.Base(exe), "python")
	s.nameReads++
	s.nextNameRead = now.Add(backoff(soonest, s.nameReads))
	return s
}

// readSize returns the suspect with a look due now if the process has grown by as much as IPython takes. The growth
// must also be an eighth of its size, so that a script that always grows does not get a look at each sweep.
func (s suspect) readSize(fs process.FS, pid int, now time.Time) suspect {
	s.sizeRead = now
	stat, err := fs.Proc(pid).Stat()
	if err != nil || stat.StartTicks != s.started {
		return s
	}
	if s.residentPages == 0 {
		s.residentPages = stat.ResidentPages
	}
	grown := stat.ResidentPages - s.residentPages
	if grown*int64(os.Getpagesize()) >= leastIPython && grown >= s.residentPages/8 {
		s.residentPages, s.nextLook = stat.ResidentPages, earlier(s.nextLook, now)
	}
	return s
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// isWanted reports whether to follow a process: one with IPython, or a kernel or a worker of Dask that has not loaded
// it.
func isWanted(p *inventory.Python) bool {
	if p.IPython != "" {
		return true
	}
	return (p.Worker || p.Kernel) && p.Python != ""
}
