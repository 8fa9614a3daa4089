package windows

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
	"ipytracer/model"
)

// Processes are the processes of a session, and the trees that they form.
type Processes struct {
	session *session
	limits  *limits
	ByPID   map[int32]*Process
	Order   []*Process
	Trees   map[uint32]*Tree
	Kernels kernels
	Crowd   int // the length of Order from which [Processes.Forget] drops processes
}

func newProcesses(s *session, l *limits) *Processes {
	return &Processes{
		session: s, limits: l, ByPID: map[int32]*Process{}, Trees: map[uint32]*Tree{}, Crowd: usualCrowd,
	}
}

// Process returns the process with a pid, nil if there is no room for one more.
func (ps *Processes) Process(pid int32, root uint32) *Process {
	p := ps.ByPID[pid]
	if p == nil && ps.limits.Room(&ps.limits.Processes, len(ps.Order) < ps.limits.MaxProcesses) {
		p = ps.add(pid, root)
	}
	return p
}

func (ps *Processes) add(pid int32, root uint32) *Process {
	p := &Process{Info: event.ProcessInfo{PID: pid, Root: root, Inputs: -1}, Index: len(ps.Order), Root: root,
		ownWindows: ownWindows{Inputs: -1}}
	ps.ByPID[pid] = p
	ps.Order = append(ps.Order, p)
	return p
}

// Adopt takes in a child for which there was no room when it began. Its parent and its memory at that time are not
// known, so no window covers its whole life.
func (ps *Processes) Adopt(pid int32, root uint32) *Process {
	i := slices.IndexFunc(ps.Order, func(p *Process) bool { return p.Root == root && p.Session != nil })
	if i < 0 {
		return nil
	}
	p, r := ps.add(pid, root), ps.Tree(root)
	p.Adopted, p.Began, p.Parent = true, ps.session.Last, ps.Order[i].Info.PID
	r.SetAlive(p, ps.session.Cut, true)
	r.MarkMoved(p, ps.session.Cut)
	return p
}

// Tree returns the tree with a number, and adds it if it is new.
func (ps *Processes) Tree(id uint32) *Tree {
	r := ps.Trees[id]
	if r == nil {
		r = &Tree{arrivals: arrivals{Changes: map[uint64]map[int32]course.Levels{}}}
		ps.Trees[id] = r
	}
	return r
}

// TreeOfReading returns the tree that a reading names. If it names none, the result is otherwise or, if that is nil,
// the tree of the reading's process.
func (ps *Processes) TreeOfReading(reading *event.Reading, otherwise *Tree) *Tree {
	if reading.Since != 0 {
		if r := ps.Trees[reading.Root]; r != nil {
			return r
		}
	}
	if p := ps.ByPID[reading.PID]; p != nil && otherwise == nil {
		return ps.Trees[p.Root]
	}
	return otherwise
}

// IsForked reports whether a process runs in a copy of its parent's memory.
func (ps *Processes) IsForked(pid int32) bool {
	p := ps.ByPID[pid]
	return p != nil && p.IsForked
}

// SessionOf returns the session window of a process, or that of another process of its tree; nil if there is none.
func (ps *Processes) SessionOf(p *Process) *Window {
	if p == nil {
		return nil
	}
	if p.Session != nil {
		return p.Session
	}
	for _, other := range ps.Order {
		if other.Root == p.Root && other.Session != nil {
			return other.Session
		}
	}
	return nil
}

// IsBelow reports whether a process descends from ancestor.
func (ps *Processes) IsBelow(p, ancestor *Process) bool {
	const deepest = 64
	for range deepest {
		if p == nil || p.Parent == 0 || p == ancestor {
			return false
		}
		if p.Parent == ancestor.Info.PID {
			return true
		}
		p = ps.ByPID[p.Parent]
	}
	return false
}

// LimitOn returns the soft limit on mapped memory of the process that was refused memory: the limit that it was
// introduced with, or that of the nearest process above it.
func (ps *Processes) LimitOn(e event.Event) event.Bytes {
	refused, ok := e.(*Refusal)
	if !ok || refused.Meter != event.Mapped {
		return 0
	}
	p := ps.ByPID[refused.PID]
	for range deepestChild {
		if p == nil || p.Info.Limit > 0 {
			break
		}
		p = ps.ByPID[p.Parent]
	}
	if p == nil {
		return 0
	}
	return p.Info.Limit
}

// deepestChild bounds the way from a process to its root; a recording may name two processes as each other's parent.
const deepestChild = 32

// SetLimits records the limits on a process's memory. The last such event of a session has the use at the end, and the
// highest.
func (ps *Processes) SetLimits(e *event.Limits) {
	p := ps.ByPID[e.PID]
	if p == nil {
		return
	}
	p.Limits = nil
	for _, l := range e.Limits {
		limit := limitOf(l)
		limit.Path, _ = ps.limits.Keep(limit.Path, MaxName)
		if l.Kind == event.LimitData { // this limit is on mapped memory
			mapped := p.Life.Of(event.Mapped)
			limit.Used, limit.Highest = int64(mapped.End), int64(mapped.Peak)
		}
		p.Limits = append(p.Limits, limit)
	}
}

// SetEnding records the cause of a process's end.
func (ps *Processes) SetEnding(e *event.Ending) {
	p := ps.ByPID[e.PID]
	if p == nil || !p.Ended {
		return
	}
	ending := *e
	ending.Limit.Path, _ = ps.limits.Keep(e.Limit.Path, MaxName)
	p.Last.Ending = &ending
	why := howKilled(e)
	if why == nil {
		return
	}
	for w := p.Last.cell; w != nil && w.Kind != KindSession && w.Status == model.Incomplete; w = w.Parent {
		w.Note = why
	}
}

// Cells returns how many cells have begun.
func (ps *Processes) Cells() (n int) {
	for _, r := range ps.Trees {
		n += r.Executions
	}
	return n
}

// Now returns a made-up boundary of a process at the end of the last segment.
func (ps *Processes) Now(p *Process) *event.Boundary {
	b := &event.Boundary{Time: ps.session.Last, Root: p.Root, PID: p.Info.PID}
	r := ps.Trees[p.Root]
	if r == nil {
		return b
	}
	b.Stream, b.Segment = r.Stream.Made, r.Ended
	if r.Last != nil {
		CarryCounts(b, r.Last)
	}
	return b
}

// CarryCounts copies the counts since the session's beginning from one boundary to another.
func CarryCounts(to, from *event.Boundary) {
	to.Frees, to.Doubts = from.Frees, from.Doubts
}

// MoveToTree moves a process into another tree: its pid was used in the old tree before. The old tree's windows lose
// their records of the process.
func (ps *Processes) MoveToTree(p *Process, root uint32) {
	if p.Root == root {
		return
	}
	old := ps.Tree(p.Root)
	if p.moved > 0 && len(old.Open) > 0 {
		ps.limits.Children++
	}
	old.SetAlive(p, ps.session.Cut, false)
	old.leave(p)
	p.Root, p.Gauges, p.lives = root, course.Gauges{}, nil
	p.DropHeritage()
}

// SetUnprobed records, at the session's end, the meters that were too low because a library could not be probed.
func (ps *Processes) SetUnprobed(all []event.Unprobed) {
	for _, b := range all {
		p := ps.ByPID[b.PID]
		if p == nil || b.Meter >= event.MeterCount {
			continue
		}
		if !b.OfChild {
			p.unprobed.Add(b)
		}
		ps.Tree(p.Root).unprobed.Add(b)
	}
	for _, r := range ps.Trees {
		for _, w := range r.Open {
			if w.IsOpen && len(r.unprobed) > 0 {
				w.setUnprobed(r, course.Forever)
			}
		}
	}
}

// Twice counts the changes of all roots that arrived twice.
func (ps *Processes) Twice() (n uint64) {
	for _, r := range ps.Trees {
		n += r.Stream.Twice
	}
	return n
}

// ChangesMissing counts the changes of all roots that did not arrive.
func (ps *Processes) ChangesMissing() (n uint64) {
	for _, r := range ps.Trees {
		if !r.Stream.Complete(0, r.Stream.Made) {
			n += max(1, r.Stream.Made-min(r.Stream.Made, r.Stream.Count))
		}
	}
	return n
}

// Straddling returns the changes that were made while boundaries were being drawn.
func (ps *Processes) Straddling() course.Straddling {
	all := course.NewStraddling()
	for id, r := range ps.Trees {
		for i := range r.Straddling {
			all.Add(id, &r.Straddling[i])
		}
	}
	all.Order()
	return all
}

// UnprobedOf returns the times in which a probe of a meter was missing.
func (ps *Processes) UnprobedOf(p *Process, tree bool, m event.Meter) course.Spans {
	if tree {
		return ps.Tree(p.Root).unprobed[m.Template()]
	}
	return p.unprobed[m.Template()]
}
