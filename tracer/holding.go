package tracer

import (
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// findHolders finds the holders of the live blocks of every running Python. The probes are still in place, so the
// change stream shows which blocks have been freed before the answer is complete. It closes the surveys.
func (l *lastLook) findHolders(all []*survey) {
	inAll := holdersInAll
	if !l.asked {
		inAll = workersInAll
	}
	left := newProcessorTime(l.context(), inAll)
	defer left.done()
	if !l.asked {
		l.workers = l.findWorkers(left)
		return
	}
	if l.live.crowded {
		l.report.leavesUnnamed("there were more than %d live blocks at a time: who holds the smallest is not told",
			maxLive)
	}
	for _, of := range all {
		t := of.target
		blocks := l.live.of(t.pid)
		h := holding{target: t, time: now()}
		var err error
		h.result, err = of.Find(left, blocks, objects.Limits{Time: left.share(holdersTime),
			Objects: holdersObjects, Unseen: true, Running: l.running(t)})
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
	l.workers = l.findWorkers(left)
}

// holders returns the holders that were found, without the blocks that have been freed since.
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
		if len(out) == 0 { // the report must show that the process was examined
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

func compareBlock(b objects.Block, address uint64) int {
	switch {
	case b.Address < address:
		return -1
	case b.Address > address:
		return 1
	}
	return 0
}

// cleanHolder returns a holder with its texts in UTF-8.
func cleanHolder(h event.Holder) event.Holder {
	h.Path, h.Root, h.Type, h.Function, h.File = clean(h.Path), clean(h.Root), clean(h.Type), clean(h.Function),
		clean(h.File)
	return h
}

// cleanView returns a view with its texts in UTF-8.
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
