package tracer

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"ipytracer/event"
	"ipytracer/tracer/host/process"
	"ipytracer/tracer/python/cpython"
	"ipytracer/tracer/python/holders"
)

// Bounds of finding out who holds what at the end of a session.
const (
	holdersTime    = 10 * time.Second // of one process: processor time
	holdersInAll   = 2 * time.Minute  // of all, on the clock
	holdersObjects = 1_500_000        // of one process: containers
	holdersEvents  = 1000             // holders in one event
	viewsEvents    = 64               // views in one
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

// holding is what was found out for one process.
type holding struct {
	target *target
	time   event.Nanoseconds
	result holders.Result
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
			l.report.leavesUnnamed("pid %d: the look at its objects was ended by Ctrl-C: who holds what, and what there is by name, is not known in full", t.pid)
		}
	}
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
			l.report.leavesUnnamed("pid %d: its objects were not looked at (%s): who holds what, and what there is by name, is not told", t.pid, l.barred)
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
			l.report.leavesUnnamed("pid %d: not all of its objects were looked at (%v): who holds what, and what there is by name, is not told", t.pid, why)
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

// survey is of one process.
type survey struct {
	*holders.Survey
	target *target
}

// findHolders asks of every Python that lives who holds its live blocks. The probes are still in place, so that the
// change stream tells which blocks have gone by the time that the answer is there. It closes the surveys.
func (l *lastLook) findHolders(all []*survey) {
	if !l.asked {
		return
	}
	if l.live.crowded {
		l.report.leavesUnnamed("there were more than %d live blocks at a time: who holds the smallest is not told",
			maxLive)
	}
	ctx, cancel := context.WithTimeout(l.context(), holdersInAll)
	defer cancel()
	for _, of := range all {
		t := of.target
		blocks := l.live.of(t.pid)
		h := holding{target: t, time: now()}
		var err error
		h.result, err = of.Find(ctx, blocks, holders.Limits{Time: holdersTime, Objects: holdersObjects, Unseen: true,
			Running: l.running(t)})
		of.Close()
		if err != nil {
			l.log.Warn("who holds the memory could not be found out", "pid", t.pid, "error", err)
			continue
		}
		if !h.result.Complete {
			l.cutShort()
		}
		l.log.Debug("who holds the memory", "pid", t.pid, "blocks", len(blocks), "objects", h.result.Objects,
			"bytes", h.result.Bytes, "took", time.Duration(now()-h.time), "complete", h.result.Complete)
		l.found = append(l.found, h)
	}
	l.workers = l.findWorkers(ctx)
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

// holders are what was found out, without the blocks that have gone since.
func (l *lastLook) holders(typed *cells) (events []event.Event) {
	for _, worker := range l.workers {
		events = append(events, worker)
	}
	for _, h := range l.found {
		var out []event.Holder
		take := func(x event.Holder) {
			one := cleanHolder(x)
			one.Line, _ = typed.typedLine(int32(h.target.pid), one.File, one.Line)
			out = append(out, one)
		}
		left := l.live.of(h.target.pid)
		for _, x := range h.result.Holders {
			if _, ok := slices.BinarySearchFunc(left, x.Address, compareBlock); ok {
				take(x)
			}
		}
		for _, x := range h.result.Unseen {
			take(x)
		}
		if len(out) == 0 { // that it was looked at must be told
			events = append(events, h.event(nil))
		}
		for part := range slices.Chunk(h.result.Views, viewsEvents) {
			e := h.event(nil)
			for _, one := range part {
				e.Views = append(e.Views, cleanView(one))
			}
			events = append(events, e)
		}
		for part := range slices.Chunk(out, holdersEvents) {
			events = append(events, h.event(part))
		}
	}
	return events
}

func (h holding) event(part []event.Holder) *event.Holders {
	return &event.Holders{
		Time: h.time, Root: h.target.root, PID: int32(h.target.pid), Complete: h.result.Complete,
		Objects: int64(h.result.Objects), Holders: part,
	}
}

func compareBlock(b holders.Block, address uint64) int {
	switch {
	case b.Address < address:
		return -1
	case b.Address > address:
		return 1
	}
	return 0
}

// cleanHolder is a holder whose texts are UTF-8.
func cleanHolder(h event.Holder) event.Holder {
	h.Path, h.Root, h.Type, h.Function, h.File = clean(h.Path), clean(h.Root), clean(h.Type), clean(h.Function),
		clean(h.File)
	return h
}

// cleanView is a view whose texts are UTF-8.
func cleanView(v event.View) event.View {
	v.Type = clean(v.Type)
	v.Viewers = slices.Clone(v.Viewers)
	for i := range v.Viewers {
		one := &v.Viewers[i]
		one.Type = clean(one.Type)
		paths := one.Paths
		one.Paths = nil
		for _, path := range paths {
			one.Paths = append(one.Paths, clean(path))
		}
	}
	return v
}
