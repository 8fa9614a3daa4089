package attribution

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
	"ipytracer/model"
)

// processes are the processes of a session, and the trees that they form.
type processes struct {
	session *session
	limits  *limits
	byPID   map[int32]*process
	order   []*process
	roots   map[uint32]*root
	kernels kernels
	crowd   int // see forget
}

func newProcesses(s *session, l *limits) *processes {
	return &processes{
		session: s, limits: l, byPID: map[int32]*process{}, roots: map[uint32]*root{}, crowd: usualCrowd,
	}
}

// process returns the process with a pid, nil if there is no room for one more.
func (ps *processes) process(pid int32, root uint32) *process {
	p := ps.byPID[pid]
	if p == nil && ps.limits.room(&ps.limits.Processes, len(ps.order) < ps.limits.processes) {
		p = ps.add(pid, root)
	}
	return p
}

func (ps *processes) add(pid int32, root uint32) *process {
	p := &process{info: event.ProcessInfo{PID: pid, Root: root, Inputs: -1}, index: len(ps.order), root: root,
		ownWindows: ownWindows{inputs: -1}}
	ps.byPID[pid] = p
	ps.order = append(ps.order, p)
	return p
}

// adopt takes in a child for which there was no room when it began. Its parent and its memory at that time are not
// known, so no window covers its whole life.
func (ps *processes) adopt(pid int32, root uint32) *process {
	i := slices.IndexFunc(ps.order, func(p *process) bool { return p.root == root && p.session != nil })
	if i < 0 {
		return nil
	}
	p, r := ps.add(pid, root), ps.root(root)
	p.adopted, p.began, p.parent = true, ps.session.last, ps.order[i].info.PID
	r.lives(p, ps.session.cut, true)
	r.moved(p, ps.session.cut)
	return p
}

func (ps *processes) root(id uint32) *root {
	r := ps.roots[id]
	if r == nil {
		r = &root{arrivals: arrivals{changes: map[uint64]map[int32]course.Levels{}}}
		ps.roots[id] = r
	}
	return r
}

// rootOf returns the tree of a reading, where the reading names it. Else it returns otherwise or, if that is nil, the
// tree of the reading's process.
func (ps *processes) rootOf(of *event.Reading, otherwise *root) *root {
	if of.Since != 0 {
		if r := ps.roots[of.Root]; r != nil {
			return r
		}
	}
	if p := ps.byPID[of.PID]; p != nil && otherwise == nil {
		return ps.roots[p.root]
	}
	return otherwise
}

func (ps *processes) isForked(pid int32) bool {
	p := ps.byPID[pid]
	return p != nil && p.isForked
}

func (ps *processes) sessionOf(p *process) *window {
	if p == nil {
		return nil
	}
	if p.session != nil {
		return p.session
	}
	for _, other := range ps.order {
		if other.root == p.root && other.session != nil {
			return other.session
		}
	}
	return nil
}

// isBelow reports whether a process is a child of another, or a child's child: not its parent, nor another child of its
// parent.
func (ps *processes) isBelow(p, of *process) bool {
	const deepest = 64
	for range deepest {
		if p == nil || p.parent == 0 || p == of {
			return false
		}
		if p.parent == of.info.PID {
			return true
		}
		p = ps.byPID[p.parent]
	}
	return false
}

// limitOn returns the soft limit on mapped memory of the process that was refused memory: the limit that it was
// introduced with, or that of the nearest process above it.
func (ps *processes) limitOn(e event.Event) event.Bytes {
	refused, ok := e.(*refusal)
	if !ok || refused.Meter != event.Mapped {
		return 0
	}
	p := ps.byPID[refused.PID]
	for range deepestChild {
		if p == nil || p.info.Limit > 0 {
			break
		}
		p = ps.byPID[p.parent]
	}
	if p == nil {
		return 0
	}
	return p.info.Limit
}

// deepestChild bounds the way from a process to its root; a recording may name two processes as each other's parent.
const deepestChild = 32

// limited takes in the limits on a process's memory. The last such event has the use at the end, and the highest.
func (ps *processes) limited(e *event.Limits) {
	p := ps.byPID[e.PID]
	if p == nil {
		return
	}
	p.limits = nil
	for _, l := range e.Limits {
		limit := limitOf(l)
		limit.Path, _ = ps.limits.keep(limit.Path, maxName)
		if l.Kind == event.LimitData { // this limit is on mapped memory
			mapped := p.life.Of(event.Mapped)
			limit.Used, limit.Highest = int64(mapped.End), int64(mapped.Peak)
		}
		p.limits = append(p.limits, limit)
	}
}

// ending takes in the cause of a process's end.
func (ps *processes) ending(e *event.Ending) {
	p := ps.byPID[e.PID]
	if p == nil || !p.ended {
		return
	}
	ending := *e
	ending.Limit.Path, _ = ps.limits.keep(e.Limit.Path, maxName)
	p.last.ending = &ending
	why := howKilled(e)
	if why == nil {
		return
	}
	for w := p.last.cell; w != nil && w.kind != kindSession && w.status == model.Incomplete; w = w.parent {
		w.note = why
	}
}

// cells returns how many cells have begun.
func (ps *processes) cells() (n int) {
	for _, r := range ps.roots {
		n += r.executions
	}
	return n
}

// now returns a boundary at the end of the last segment, where the kernel drew none.
func (ps *processes) now(p *process) *event.Boundary {
	b := &event.Boundary{Time: ps.session.last, Root: p.root, PID: p.info.PID}
	r := ps.roots[p.root]
	if r == nil {
		return b
	}
	b.Stream, b.Segment = r.stream.Made, r.ended
	if r.last != nil {
		carry(b, r.last)
	}
	return b
}

// carry copies into a boundary another one's counts since the beginning.
func carry(b, of *event.Boundary) {
	b.Frees, b.Doubts = of.Frees, of.Doubts
}

// enter moves a process into another tree: its pid was used in the old tree before. The old tree's windows lose their
// records of it.
func (ps *processes) enter(p *process, root uint32) {
	if p.root == root {
		return
	}
	was := ps.root(p.root)
	if p.moved > 0 && len(was.open) > 0 {
		ps.limits.Children++
	}
	was.lives(p, ps.session.cut, false)
	was.leave(p)
	p.root, p.past, p.lives, p.copied, p.isForked = root, course.Gauges{}, nil, nil, false
}

// blindTo records, at the end, that a meter of a process was too low because something could not be probed.
func (ps *processes) blindTo(all []event.Blind) {
	for _, b := range all {
		p := ps.byPID[b.PID]
		if p == nil || b.Meter >= event.MeterCount {
			continue
		}
		if !b.OfChild {
			p.blind.Add(b)
		}
		ps.root(p.root).blind.Add(b)
	}
	for _, r := range ps.roots {
		for _, w := range r.open {
			if w.isOpen && len(r.blind) > 0 {
				w.isBlind(r, course.Forever)
			}
		}
	}
}

// twice returns the number of changes of all roots that came again.
func (ps *processes) twice() (n uint64) {
	for _, r := range ps.roots {
		n += r.stream.Twice
	}
	return n
}

// changesMissing returns the number of changes of all roots that did not arrive.
func (ps *processes) changesMissing() (n uint64) {
	for _, r := range ps.roots {
		if !r.stream.Complete(0, r.stream.Made) {
			n += max(1, r.stream.Made-min(r.stream.Made, r.stream.Count))
		}
	}
	return n
}

// betweens returns the changes that were made while boundaries were being drawn.
func (ps *processes) betweens() course.Straddling {
	all := course.NewStraddling()
	for id, r := range ps.roots {
		for i := range r.between {
			all.Add(id, &r.between[i])
		}
	}
	all.Order()
	return all
}

// blindOf returns the times in which a probe of a meter was missing.
func (ps *processes) blindOf(p *process, tree bool, m event.Meter) course.Spans {
	if tree {
		return ps.root(p.root).blind[m.Template()]
	}
	return p.blind[m.Template()]
}
