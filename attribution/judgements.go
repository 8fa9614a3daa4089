package attribution

import (
	"strings"

	"ipytracer/event"
	"ipytracer/model"
)

// find files what a site left behind under the verdict it belongs to.
func (j *judge) find(kind string, s *site, by event.HolderKind, p *portion) *found {
	key := j.key(kind, s, by, p.holder)
	f := j.verdicts[key]
	if f == nil {
		f = &found{portion: p, kind: by, unseen: s.unseen}
		f.Stack = s.frames
		j.verdicts[key] = f
		j.order = append(j.order, key)
	} else {
		f.unseen = f.unseen || s.unseen
		if same := common(f.Stack, s.frames); len(same) > 0 {
			f.Stack = same
		} else if p.bytes > f.portion.bytes {
			f.Stack = s.frames
		}
		f.portion = join(f.portion, p)
	}
	return f
}

// lastError is the holder of what the exception has that was shown last, in sys and in IPython.
const lastError = "the last exception"

// key says which verdict what a site left belongs to: that of its holder, where it can be named.
func (j *judge) key(kind string, s *site, by event.HolderKind, holder event.Holder) verdictKey {
	key := verdictKey{kind: kind, pid: s.pid, meter: s.meter}
	line := ""
	if n := len(s.frames); n > 0 {
		outermost := s.frames[n-1]
		outermost.File = anyRun(outermost.File)
		line = frameKey([]model.Frame{outermost})
	}
	switch {
	case kind == model.HeldByOutput:
		key.holder = rootName(holder)
		if shown := j.shownBy(s.pid, holder.Output); shown != nil { // by the same cell, each time it ran
			key.text, key.holder = j.t.texts.textOf(shown), ""
		}
	case kind == model.HeldByView:
		key.holder = j.views.names[viewAt{s.pid, holder.Address}]
	case kind == model.Waits: // one for all of it: one collection has it all
	case kind == model.HeldByTraceback && by == event.HeldByTraceback && holder.Root != "":
		key.holder = holder.Root
		if strings.HasPrefix(holder.Root, "sys.last_") || strings.HasPrefix(holder.Root, "get_ipython") {
			key.holder = lastError
		}
	case kind == model.HeldAfterWindow && by == event.HeldByModule:
		key.holder = string(by) + " " + rootOf(holder)
	case kind == model.HeldAfterWindow && by == event.HeldByThread:
		key.holder = string(by) + " " + holder.Function + " " + rootOf(holder)
	case kind == model.RerunGrowth && (by == event.HeldByVariable || by == event.HeldByModule):
		key.text, key.holder = s.text, string(by)+" "+rootOf(holder)
	default:
		key.text, key.line, key.holder = s.text, line, string(by)
	}
	return key
}

// shownBy is the cell that showed Out[n], nil if that is not known.
func (j *judge) shownBy(pid int32, n int) *window { return j.shown[pid][n] }

// common are the outer calls that two stacks share.
func common(a, b []model.Frame) []model.Frame {
	n := 0
	for n < len(a) && n < len(b) {
		x, y := a[len(a)-1-n], b[len(b)-1-n]
		x.File, y.File = anyRun(x.File), anyRun(y.File)
		if compareFrames(x, y) != 0 {
			break
		}
		n++
	}
	return a[len(a)-n:]
}
