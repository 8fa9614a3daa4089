package audit

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/freeing"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// addTo adds a portion of a site to the verdict that it belongs to, and returns the verdict.
func (j *judge) addTo(kind string, s *Site, by event.HolderKind, p *portion) *verdictInWork {
	key := j.key(kind, s, by, p.holder)
	f := j.verdicts[key]
	if f == nil {
		f = &verdictInWork{portion: p, kind: by, unseen: s.unseen}
		f.Stack = s.Frames
		j.verdicts[key] = f
		j.order = append(j.order, key)
	} else {
		f.unseen = f.unseen || s.unseen
		if common := stacks.Common(f.Stack, s.Frames); len(common) > 0 {
			f.Stack = common
		} else if p.bytes > f.portion.bytes {
			f.Stack = s.Frames
		}
		f.portion = sumOf(f.portion, p)
	}
	return f
}

// key returns the key of the verdict that a portion of a site belongs to. A holder with a name has one verdict for all
// sites.
func (j *judge) key(kind string, s *Site, by event.HolderKind, holder event.Holder) verdictKey {
	key := verdictKey{kind: kind, pid: s.pid, meter: s.meter}
	line := ""
	if n := len(s.Frames); n > 0 {
		outermost := s.Frames[n-1]
		outermost.File = stacks.AnyRun(outermost.File)
		line = stacks.FrameKey([]model.Frame{outermost})
	}
	switch {
	case kind == model.HeldByOutput:
		key.holder = freeing.RootName(holder)
		if shown := j.shownBy(s.pid, holder.Output); shown != nil { // one verdict for all runs of the cell
			key.text, key.holder = j.t.Texts.TextOf(shown), ""
		}
	case kind == model.HeldByView:
		key.holder = j.views.names[viewAt{s.pid, holder.Address}]
	case kind == model.Waits: // one verdict for all garbage: one collection frees it all
	case kind == model.HeldByTraceback && by == event.HeldByTraceback && holder.Root != "":
		key.holder = holder.Root
		if strings.HasPrefix(holder.Root, "sys.last_") || strings.HasPrefix(holder.Root, "get_ipython") {
			key.holder = words.LastException
		}
	case kind == model.HeldAfterWindow && by == event.HeldByModule:
		key.holder = string(by) + " " + freeing.RootOf(holder)
	case kind == model.HeldAfterWindow && by == heldByClass:
		key.holder = string(by) + " " + freeing.AttributeOf(holder)
	case kind == model.HeldAfterWindow && by == event.HeldByThread:
		key.holder = string(by) + " " + holder.Function + " " + freeing.RootOf(holder)
	case kind == model.RerunGrowth && (by == event.HeldByVariable || by == event.HeldByModule):
		key.text, key.holder = s.text, string(by)+" "+freeing.RootOf(holder)
	default:
		key.text, key.line, key.holder = s.text, line, string(by)
	}
	return key
}

// shownBy returns the cell that showed Out[n], nil if that is not known.
func (j *judge) shownBy(pid int32, n int) *windows.Window { return j.shown[pid][n] }

// judgePassed judges the blocks that were freed, but too late.
func (j *judge) judgePassed() {
	names := NewSurvivors(j.t)
	for _, key := range slices.SortedFunc(maps.Keys(j.audit.departures.gone), comparePassing) {
		p := j.audit.departures.gone[key]
		if !key.meter.Facts().Owned || !j.isJudgedProcess(key.pid) || key.in != nil && !key.in.Failed() {
			continue
		}
		kind := model.FreedLate
		if key.release != nil {
			kind = model.HeldByTraceback
		}
		late := &portion{bytes: p.bytes, count: p.count, oldest: p.first,
			runs: map[*windows.Window]event.Bytes{key.birth.Cell: p.bytes}}
		f := j.addTo(kind, names.Site(key.pid, key.meter, key.stack, key.birth), notAsked, late)
		f.gap = max(f.gap, p.last-key.birth.Cell.Closed)
		if f.release == nil || key.release != nil && key.release.Execution > f.release.Execution {
			f.release = key.release
		}
	}
}

func comparePassing(a, b passing) int {
	return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.meter, b.meter), cmp.Compare(a.stack, b.stack),
		cmp.Compare(a.birth.Cell.ID, b.birth.Cell.ID), cmp.Compare(a.birth.Line, b.birth.Line),
		cmp.Compare(a.birth.Status, b.birth.Status))
}

// raisedBy returns the cell that raised the last exception, if a verdict is about blocks that the exception's traceback
// holds and other cells allocated some of them; else nil. Examples of such blocks are the arguments of the call that
// failed, and the copies that pandas makes of the notebook's names for eval and query.
func raisedBy(j *judge, key verdictKey, f *verdictInWork) *windows.Window {
	failures := j.audit.departures.failures[key.pid]
	if key.kind != model.HeldByTraceback || f.kind != event.HeldByTraceback || f.release != nil || len(failures) == 0 {
		return nil
	}
	if !strings.HasPrefix(f.portion.holder.Root, "sys.last_") { // IPython's own copy can be of an earlier exception
		return nil
	}
	raised := failures[len(failures)-1]
	if len(f.portion.runs) == 1 && f.portion.runs[raised] > 0 {
		return nil
	}
	return raised
}

// fixOf returns code for a cell that frees the memory of a verdict, "" if there is none.
func fixOf(key verdictKey, f *verdictInWork) string {
	switch key.kind {
	case model.HeldByOutput:
		return f.portion.ways.DropOutputs()
	case model.HeldByTraceback:
		switch {
		case f.release != nil:
			return ""
		case f.kind == event.HeldByCycle:
			return freeing.Collect
		case key.holder == "" || key.holder == words.LastException:
			return freeing.LastErrorGone
		}
		return f.portion.ways.Fix()
	case model.LostInCycle:
		return f.portion.lost.Fix()
	case model.Waits:
		return freeing.Collect
	case model.HeldAfterWindow, model.RerunGrowth:
		switch f.portion.holder.Kind {
		case event.HeldByCycle:
			if f.portion.holder.Garbage == event.GarbageFrozen {
				return freeing.Thaw
			}
			return freeing.Collect
		case event.HeldByModule, event.HeldByVariable:
			return f.portion.ways.Fix()
		}
	case model.IdlePool, model.ChildAlive:
		return words.Endings{EndedBy: f.endedBy, PIDs: f.children}.Code()
	}
	return ""
}
