package attribution

import (
	"cmp"
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Limits on a glance: it is made while the session runs, several times a minute.
const (
	maxGlanced   = 64 // processes
	maxGrown     = 200
	maxGlancedAt = 50 // children and variables of one process
)

// glancer reports on a session while it goes on.
type glancer struct {
	*rows
	lister      *lister
	allocations *allocations
	activity    *activity
	requests    *requests
	invariants  *invariants
	marked      *baseline // nil for none
}

// baseline is the bytes that processes held of each stack at some time.
type baseline struct {
	held map[course.Key]map[uint64]event.Bytes
}

// maxMarked is the most stacks that a mark records. With more there is no mark, so no growth since it is reported.
const maxMarked = 1 << 18

// mark records the current holdings, or drops the mark, for [Tracker.Mark].
func (gl *glancer) mark(now bool) {
	gl.marked = nil
	if now {
		gl.marked = gl.allocations.baseline()
	}
}

// baseline returns the current holdings; nil if there are too many to remember.
func (a *allocations) baseline() *baseline {
	m := &baseline{held: map[course.Key]map[uint64]event.Bytes{}}
	room := maxMarked
	for key, h := range a.Holdings.Held {
		if room -= len(h.ByStack); room < 0 {
			a.Holdings.Dropped++
			return nil
		}
		of := make(map[uint64]event.Bytes, len(h.ByStack))
		for stack, size := range h.ByStack {
			of[stack] = size
		}
		m.held[key] = of
	}
	return m
}

// glance returns the current state of the session.
func (gl *glancer) glance() *model.Glance {
	g := &model.Glance{Schema: model.GlanceSchema, Host: gl.session.host(),
		ElapsedNS: gl.session.since(gl.session.last),
		Cells:     gl.processes.cells(), Kernels: []model.Kernel{}, Lacks: gl.lacks()}
	for _, p := range gl.processes.order {
		if p.began == 0 || p.parent != 0 && p.lastCell == nil && len(p.open) == 0 ||
			gl.processes.byPID[p.info.PID] != p {
			continue
		}
		if len(g.Kernels) == maxGlanced {
			g.Truncated = true
			break
		}
		g.Kernels = append(g.Kernels, gl.kernel(p))
	}
	return g
}

func (gl *glancer) kernel(p *process) model.Kernel {
	k := model.Kernel{
		PID: int(p.info.PID), Command: p.info.Command, Python: p.info.Python, IPython: p.info.IPython,
		Frontend: p.info.Frontend, Ended: p.ended,
		Growth: "none", Allocations: []model.Allocation{}, Children: []model.Child{},
	}
	if len(p.limits) > 0 {
		limit := p.limits[0]
		k.Limit = &limit
	}
	var session *window
	if p.session != nil {
		session = gl.table.whole(p.session)
	}
	k.Meters = gl.figurer.figureMap(p.certainLife(), session, false, p.info.Python != "")
	if session != nil {
		k.Tree = gl.figurer.treeOf(session, k.Meters)
	}
	gl.glanceAtCell(p, &k)
	gl.glanceAtChildren(p, &k)
	gl.glanceAtVariables(p, &k)
	return k
}

// glanceAtCell adds the cell that runs, or ran last, and the allocations in it.
func (gl *glancer) glanceAtCell(p *process, k *model.Kernel) {
	w := p.lastCell
	if len(p.open) > 0 {
		w, k.Running = p.open[0], true
	}
	if w != nil && !w.dropped {
		cell := gl.presenter.window(gl.table.whole(w))
		k.Cell = &cell
		if innermost := w; k.Running {
			innermost = p.open[len(p.open)-1]
			if s := innermost.statement; s != nil && s.isOpen {
				statement := gl.presenter.window(gl.table.whole(s))
				k.Statement = &statement
			}
		}
	}
	switch {
	case gl.marked != nil:
		k.Growth = "mark"
		gl.grownSince(p, k)
	case k.Cell != nil:
		k.Growth = "cell"
		k.Allocations, k.Coverage = gl.grownIn(w, k)
	}
}

// grownIn lists the allocations in a cell, those that grew most first.
func (gl *glancer) grownIn(w *window, k *model.Kernel) ([]model.Allocation, map[string]model.Coverage) {
	coverage := map[string]model.Coverage{}
	whole := gl.table.whole(w)
	all := gl.lister.allocationsOf(whole, nil, coverage)
	complete := gl.processes.changesMissing() == 0 && gl.allocations.missing() == 0
	for m, tallied := range whole.tallies {
		c := coverage[m.String()]
		if w.isOpen { // tallies are of this moment, figures of the last boundary
			c.Exact = complete && !slices.Contains(whole.shed, m) && !tallied.Wrong && !whole.missesStacks(m)
			c.Rest = max(0, c.Rest)
		}
		coverage[m.String()] = c
		k.Unlisted += c.Unlisted
		k.UnlistedNet += c.UnlistedNet
	}
	slices.SortStableFunc(all, func(x, y model.Allocation) int { return cmp.Compare(y.Net, x.Net) })
	if len(all) == 0 {
		return []model.Allocation{}, nil
	}
	return slices.Clip(all), coverage
}

// grownSince lists by how much the stacks of a process have grown since the mark.
func (gl *glancer) grownSince(p *process, k *model.Kernel) {
	s := gl.processes.sessionOf(p)
	if s == nil {
		return
	}
	whole := gl.table.whole(s)
	for key, h := range gl.allocations.Holdings.Held {
		if key.PID != p.info.PID {
			continue
		}
		before := gl.marked.held[key]
		var moved []stacks.Sum
		differ := func(stack uint64, now, before event.Bytes) {
			if now != before {
				moved = append(moved, stacks.Sum{Stack: stack, Allocated: max(0, now-before), Freed: max(0, before-now),
					AtPeak: now})
			}
		}
		for stack, now := range h.ByStack {
			differ(stack, now, before[stack])
		}
		for stack, was := range before {
			if _, there := h.ByStack[stack]; !there {
				differ(stack, 0, was)
			}
		}
		grown := gl.lister.divided.SameLines(moved)
		slices.SortFunc(grown, func(x, y stacks.Sum) int {
			return cmp.Or(cmp.Compare(y.Allocated-y.Freed, x.Allocated-x.Freed), cmp.Compare(x.Stack, y.Stack))
		})
		for i, y := range grown {
			if i >= maxGrown {
				k.Unlisted++
				k.UnlistedNet += int64(y.Allocated - y.Freed)
				continue
			}
			one := gl.lister.allocation(whole, key.Meter, y)
			one.Allocated, one.Freed = 0, 0
			k.Allocations = append(k.Allocations, one)
		}
	}
	slices.SortStableFunc(k.Allocations, func(x, y model.Allocation) int {
		return cmp.Or(cmp.Compare(y.Net, x.Net), cmp.Compare(x.Meter, y.Meter),
			slices.CompareFunc(x.Stack, y.Stack, stacks.OrderFrames))
	})
}

// glanceAtChildren lists the live processes below a process.
func (gl *glancer) glanceAtChildren(p *process, k *model.Kernel) {
	for _, c := range gl.processes.root(p.root).living {
		if c == p || !gl.processes.isBelow(c, p) {
			continue
		}
		k.Children = append(k.Children, model.Child{PID: int(c.info.PID), Command: c.info.Command,
			Meters: gl.figurer.figureMap(c.certainLife(), nil, false, c.info.Python != "")})
	}
	resident := event.Resident.String()
	slices.SortFunc(k.Children, func(x, y model.Child) int {
		return cmp.Or(cmp.Compare(y.Meters[resident].End, x.Meters[resident].End), cmp.Compare(x.PID, y.PID))
	})
	if n := len(k.Children); n > maxGlancedAt {
		k.Children, k.ChildrenUnlisted = k.Children[:maxGlancedAt], n-maxGlancedAt
	}
}

// glanceAtVariables lists the largest variables by name, as of the last search.
func (gl *glancer) glanceAtVariables(p *process, k *model.Kernel) {
	i := slices.IndexFunc(gl.namespaces.early, func(e *event.Variables) bool { return e.PID == p.info.PID })
	if i < 0 || p.ended {
		return
	}
	e := gl.namespaces.early[i]
	all, names := gl.namespaces.variablesOf(e)
	slices.SortStableFunc(all, largerVariable)
	k.Variables, k.Names, k.VariablesNS = all[:min(len(all), maxGlancedAt)], &names, gl.session.since(e.Time)
}

// lacks returns the losses that are known so far.
func (gl *glancer) lacks() model.Lacks {
	l := model.Lacks{Reasons: []string{}, SteppedDown: []string{}}
	add := func(text string) { l.Reasons = append(l.Reasons, text) }
	down := map[string]bool{}
	for _, r := range gl.processes.roots {
		l.Made += r.stream.Made
		l.Delivered += r.stream.Count
		r.isDown(down)
		for _, refused := range r.refusals() {
			add(words.Lost(refused.Reason, refused.Count))
		}
		if r.last != nil {
			for _, n := range r.last.Unknown {
				l.UnknownFrees += n
			}
		}
	}
	if missing := gl.processes.changesMissing(); missing > 0 {
		add(words.ChangesMissing(missing, l.Made))
	}
	l.Reasons = append(l.Reasons, gl.invariants.Reasons()...)
	if gl.table.dropped > 0 {
		add(words.WindowsMissing(uint64(gl.table.dropped)))
	}
	if gl.activity.unseen > 0 {
		add(words.CellsUnseen(uint64(gl.activity.unseen)))
	}
	if gl.allocations.missing() > 0 {
		add(words.AllocationsMissing(uint64(gl.allocations.missing())))
	}
	if why := gl.allocations.givenUp; why != "" {
		add(why)
	}
	if gl.requests.dropped > 0 {
		add(words.RefusalsMissing(gl.requests.dropped))
	}
	figures, attribution := gl.limits.Reasons()
	l.Reasons = append(append(l.Reasons, figures...), attribution...)
	slices.Sort(l.Reasons)
	l.Reasons = slices.Compact(l.Reasons)
	for what := range down {
		l.SteppedDown = append(l.SteppedDown, what)
	}
	slices.Sort(l.SteppedDown)
	return l
}
