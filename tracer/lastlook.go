package tracer

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"ipytracer/event"
	"ipytracer/tracer/host/process"
	"ipytracer/tracer/python/cpython"
	"ipytracer/tracer/python/holders"
)

// lastLook is a look at what the Pythons that live have in the end: who holds what, what there is by name, where the
// resident memory is.
type lastLook struct {
	fs           process.FS
	log          *slog.Logger
	report       *certificate
	interpreters *interpreters
	targets      []*target
	asked        bool // who holds what is to be found out, which takes a while, as may the rest then
	live         *live
	within       context.Context // nil: it ends by itself
	cut          atomic.Bool     // it was ended before it was through
	objects      int             // that are looked at of each process at most; 0: as many as there may be
	barred       string          // why no objects are looked at; "": they are
	one          bool            // it is of one process, that may be a child, while the session runs
	watch        []event.Piece   // which of these objects are there still is to be found out, in a look at one process

	still []bool // of what was listed last

	found   []holding
	workers []*event.Holders // of pools
}

// Bounds of finding out who holds what at the end of a session.
const (
	holdersTime    = 10 * time.Second // of one process: processor time
	holdersInAll   = 2 * time.Minute  // of all, on the clock
	holdersObjects = 1_500_000        // of one process: containers
	holdersEvents  = 1000             // holders in one event
	viewsEvents    = 64               // views in one
)

// Bounds of listing what is there by name at the end of a session: less where nobody asked for more than a report,
// which people wait for.
const (
	listingTime    = 5 * time.Second // of one process: processor time
	listingInAll   = 2 * time.Minute
	briefTime      = 3 * time.Second // PyTorch brings so many objects that a second was not always enough
	briefInAll     = 16 * time.Second
	briefObjects   = 1_000_000
	briefBytes     = 2 << 30
	listingObjects = 1_500_000
)

// holding is what was found out for one process.
type holding struct {
	target *target
	time   event.Nanoseconds
	result holders.Result
}

func (h holding) event(part []event.Holder) *event.Holders {
	return &event.Holders{
		Time: h.time, Root: h.target.root, PID: int32(h.target.pid), Complete: h.result.Complete,
		Objects: int64(h.result.Objects), Holders: part,
	}
}

func (l *lastLook) context() context.Context {
	if l.within == nil {
		return context.Background()
	}
	return l.within
}

// cutShort reports whether somebody has ended the look, and notes that it is not whole: for where something is left to
// be found out.
func (l *lastLook) cutShort() bool {
	ended := l.context().Err() != nil
	if ended {
		l.cut.Store(true)
	}
	return ended
}

// sayEnded takes in of which processes something was not found out because somebody has ended the look.
func (l *lastLook) sayEnded() {
	for _, t := range l.targets {
		if l.cut.Load() && !t.gone && t.python != nil {
			l.report.leavesUnnamed("pid %d: the look at its objects was ended by Ctrl-C: who holds what, and what "+
				"there is by name, is not known in full", t.pid)
		}
	}
}

// survey is of one process.
type survey struct {
	*holders.Survey
	target *target
}

// surveys looks at the objects of every Python that lives. They must be closed.
func (l *lastLook) surveys() []*survey {
	limits, inAll := holders.Limits{Time: briefTime, Objects: briefObjects, Bytes: briefBytes}, briefInAll
	if l.asked {
		limits, inAll = holders.Limits{Time: holdersTime, Objects: holdersObjects}, holdersInAll
	}
	if l.objects > 0 {
		limits.Objects = min(limits.Objects, l.objects)
	}
	ctx, cancel := context.WithTimeout(l.context(), inAll)
	defer cancel()
	var all []*survey
	for _, t := range l.targets {
		if t.gone || t.python == nil {
			continue
		}
		if l.barred != "" {
			l.report.leavesUnnamed("pid %d: its objects were not looked at (%s): who holds what, and what there is "+
				"by name, is not told", t.pid, l.barred)
			continue
		}
		began := now()
		process := holders.Process{Mapped: l.mapped(t.pid),
			Used: func() time.Duration { return time.Duration(t.used()) }}
		one, err := holders.NewSurvey(ctx, t.python.live, process, limits)
		if errors.Is(err, cpython.ErrUnsupported) {
			l.report.leavesUnnamed("pid %d: who holds what, and what there is by name, is not told: %v", t.pid, err)
			continue
		}
		if err != nil {
			l.log.Warn("the objects of a process could not be looked at", "pid", t.pid, "error", err)
			continue
		}
		if why := one.Stopped(); why != nil && !l.cutShort() {
			l.report.leavesUnnamed("pid %d: not all of its objects were looked at (%v): who holds what, and what "+
				"there is by name, is not told", t.pid, why)
		}
		l.log.Debug("looked at all objects", "pid", t.pid, "took", time.Duration(now()-began))
		for _, other := range all {
			other.Rest()
		}
		all = append(all, &survey{Survey: one, target: t})
	}
	return all
}

// besideThem returns the same surveys for findHolders, if that is asked for. Both must be gone through in the same
// order, each closed when it is done with: one waits for the other where two at a time would take too much memory.
func (l *lastLook) besideThem(all []*survey) (others []*survey) {
	if !l.asked {
		return nil
	}
	for _, of := range all {
		others = append(others, &survey{Survey: of.Beside(), target: of.target})
	}
	return others
}

// running are the threads of a process that run cells, where it is looked at while it runs them.
func (l *lastLook) running(t *target) (states []uint64) {
	if !l.one {
		return nil
	}
	threads, err := t.python.live.RunningCells()
	if err != nil {
		l.log.Debug("the threads could not be read", "pid", t.pid, "error", err)
	}
	for _, thread := range threads {
		states = append(states, thread.State)
	}
	return states
}

// mapped is what a process has mapped, what lies side by side as one.
func (l *lastLook) mapped(pid int) (all []holders.Block) {
	for m, err := range l.fs.Image(pid).Mappings() {
		if err != nil {
			break
		}
		if n := len(all); n > 0 && all[n-1].Address+all[n-1].Size == m.Start {
			all[n-1].Size += m.End - m.Start
		} else {
			all = append(all, holders.Block{Address: m.Start, Size: m.End - m.Start})
		}
	}
	return all
}
