package agent

import (
	"context"
	"os"
	"path"
	"strings"
	"time"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/internal/host/process"
)

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
func (s *suspect) isYoung() bool { return s.is && !s.known && !s.born && s.looks < youngLooks }

// hasEnded reports whether a suspect is no longer there.
func (s *scout) hasEnded(pid int, one suspect) bool {
	stat, err := s.fs.Proc(pid).Stat()
	return err != nil || stat.StartTicks != one.started || stat.Ended()
}

// meet reads the name of a process's program.
func (s *scout) meet(pid int, one suspect, now time.Time) suspect {
	stat, err := s.fs.Proc(pid).Stat()
	if err != nil {
		return suspect{}
	}
	if one.started != stat.StartTicks {
		one = suspect{started: stat.StartTicks}
	}
	exe, err := s.fs.Proc(pid).ExeName()
	one.is = err == nil && strings.HasPrefix(path.Base(exe), "python")
	one.met++
	one.read = now.Add(backoff(soonest, one.met))
	return one
}

// weigh has a Python without IPython looked into soon if it has grown by as much as IPython takes, and by an eighth: a
// script that grows all the time is not looked into at each sweep.
func (s *scout) weigh(pid int, one suspect, now time.Time) suspect {
	one.weighed = now
	stat, err := s.fs.Proc(pid).Stat()
	if err != nil || stat.StartTicks != one.started {
		return one
	}
	if one.pages == 0 {
		one.pages = stat.ResidentPages
	}
	grown := (stat.ResidentPages - one.pages) * int64(os.Getpagesize())
	if grown >= leastIPython && stat.ResidentPages-one.pages >= one.pages/8 {
		one.pages, one.next = stat.ResidentPages, earlier(one.next, now)
	}
	return one
}

// holderOfLook returns to whom the time of a look at a process counts.
func holderOfLook(a *Agent, pid int) (of inventory.Holder, err error) {
	status, err := a.fs.Proc(pid).Status()
	if err != nil {
		return of, err
	}
	group := groupOf(a.fs, pid)
	f := placeOf(group)
	f.uid = status.UID
	f.unitUser, _ = telemetry.HubUnit(group)
	one := accountOf(group, &f, a.book.Login(f.uid, group))
	return inventory.Holder{UID: one.user, Group: one.group}, nil
}

// newScout returns a scout that has seen nothing.
func (a *Agent) newScout(ctx context.Context) *scout {
	s := &scout{
		fs: a.fs, log: a.log, found: a.found, missed: a.metrics.miss, wake: make(chan struct{}, 1),
		holder: func(pid int) (inventory.Holder, error) { return holderOfLook(a, pid) },
	}
	s.look = inventory.NewFinder(ctx, !a.options.Config.Dask.Off, s.deliver).Look
	return s
}
