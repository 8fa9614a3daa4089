package lastlook

import (
	"cmp"
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/tracer/internal/running"
	"ipytracer/tracer/internal/tracee"
)

// FindHolders finds the holders of the live blocks of every running Python. The probes are still in place, so the
// change stream shows which blocks have been freed before the answer is complete. It closes the surveys.
func (l *Look) FindHolders(surveys []*survey) {
	inAll := holdersInAll
	if !l.Asked {
		inAll = workersInAll
	}
	left := newProcessorTime(l.context(), inAll)
	defer left.done()
	if !l.Asked {
		l.workers = l.findWorkers(left)
		return
	}
	if l.Live.crowded {
		l.Report.LeavesUnnamed("there were more than %d live blocks at a time: who holds the smallest is not told",
			maxLive)
	}
	for _, s := range surveys {
		t := s.target
		blocks := l.Live.blocksOf(t.PID)
		h := holding{target: t, time: tracee.Now()}
		var err error
		h.result, err = s.Find(left, blocks, objects.Limits{Time: left.share(holdersTime),
			Objects: holdersObjects, Unseen: true, Running: l.running(t)})
		s.Close()
		if err != nil {
			l.Log.Warn("who holds the memory could not be found out", "pid", t.PID, "error", err)
			continue
		}
		if !h.result.Complete {
			l.cutShort()
		}
		l.Log.Debug("who holds the memory", "pid", t.PID, "blocks", len(blocks), "objects", h.result.Objects,
			"bytes", h.result.Bytes, "took", time.Duration(tracee.Now()-h.time), "complete", h.result.Complete)
		l.found = append(l.found, h)
	}
	l.workers = l.findWorkers(left)
}

// Holders returns the holders that were found, except those of blocks that were freed since.
func (l *Look) Holders(typed *running.Cells) (events []event.Event) {
	for _, worker := range l.workers {
		events = append(events, worker)
	}
	for _, h := range l.found {
		var out []event.Holder
		add := func(x event.Holder) {
			holder := cleanHolder(x)
			holder.Line, _ = typed.TypedLine(int32(h.target.PID), holder.File, holder.Line)
			out = append(out, holder)
		}
		left := l.Live.blocksOf(h.target.PID)
		for _, x := range h.result.Holders {
			if _, ok := slices.BinarySearchFunc(left, x.Address, compareBlock); ok {
				add(x)
			}
		}
		for _, x := range h.result.Unseen {
			add(x)
		}
		if len(out) == 0 { // the report must show that the process was examined
			events = append(events, h.event(nil))
		}
		for part := range slices.Chunk(h.result.Views, viewsEvents) {
			e := h.event(nil)
			for _, view := range part {
				e.Views = append(e.Views, cleanView(view))
			}
			events = append(events, e)
		}
		for part := range slices.Chunk(out, holdersEvents) {
			events = append(events, h.event(part))
		}
	}
	return events
}

func compareBlock(b objects.Block, address uint64) int { return cmp.Compare(b.Address, address) }

// cleanAll returns texts in UTF-8.
func cleanAll(texts []string) (clean []string) {
	for _, text := range texts {
		clean = append(clean, tracee.Clean(text))
	}
	return clean
}

// cleanHolder returns a holder with its texts in UTF-8.
func cleanHolder(h event.Holder) event.Holder {
	for _, text := range []*string{&h.Path, &h.Root, &h.Type, &h.Function, &h.File} {
		*text = tracee.Clean(*text)
	}
	return h
}

// cleanView returns a view with its texts in UTF-8.
func cleanView(v event.View) event.View {
	v.Type = tracee.Clean(v.Type)
	v.Viewers = slices.Clone(v.Viewers)
	for i := range v.Viewers {
		viewer := &v.Viewers[i]
		viewer.Type, viewer.Paths = tracee.Clean(viewer.Type), cleanAll(viewer.Paths)
	}
	return v
}
