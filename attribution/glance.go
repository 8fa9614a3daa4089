package attribution

import (
	"cmp"
	"slices"

	"ipytracer/event"
	"ipytracer/model"
	"ipytracer/model/words"
)

// Bounds of a glance: it is made while the session runs, several times a minute.
const (
	maxGlanced   = 64 // processes
	maxGrown     = 200
	maxGlancedAt = 50 // children and variables of one
)

// baseline is what processes had of each stack at some time.
type baseline struct {
	held map[heldKey]map[uint64]event.Bytes
}

// maxMarked is how many stacks a mark remembers: of what has no room growth since then is not told.
const maxMarked = 1 << 18

// Mark has [Tracker.Glance] tell growth from now on, or from the beginning of cells where now is false again.
func (t *Tracker) Mark(now bool) {
	t.marked = nil
	if !now {
		return
	}
	m := &baseline{held: map[heldKey]map[uint64]event.Bytes{}}
	room := maxMarked
	for key, h := range t.allocations.held {
		if room -= len(h.byStack); room < 0 {
			t.allocations.dropped++
			return
		}
		of := make(map[uint64]event.Bytes, len(h.byStack))
		for stack, size := range h.byStack {
			of[stack] = size
		}
		m.held[key] = of
	}
	t.marked = m
}

// Glance returns what there is just now: figures up to the last boundary, the largest variables as they were last
// listed. It takes a time that grows with the stacks of the cells that run, and with nothing that is over.
func (t *Tracker) Glance() *model.Glance {
	t.Flush()
	g := &model.Glance{Schema: model.GlanceSchema, Host: t.session.host(), ElapsedNS: t.session.since(t.session.last),
		Cells: t.processes.cells(), Kernels: []model.Kernel{}, Lacks: t.lacks()}
	for _, p := range t.processes.order {
		if p.began == 0 || p.parent != 0 && p.lastCell == nil && len(p.open) == 0 ||
			t.processes.byPID[p.info.PID] != p {
			continue
		}
		if len(g.Kernels) == maxGlanced {
			g.Truncated = true
			break
		}
		g.Kernels = append(g.Kernels, t.kernel(p))
	}
	return g
}

func (t *Tracker) kernel(p *process) model.Kernel {
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
		session = t.table.whole(p.session)
	}
	k.Meters = t.figurer.figureMap(p.certainLife(), session, false, p.info.Python != "")
	if session != nil {
		k.Tree = t.figurer.treeOf(session, k.Meters)
	}
	t.glanceAtCell(p, &k)
	t.glanceAtChildren(p, &k)
	t.glanceAtVariables(p, &k)
	return k
}

// glanceAtCell tells of the cell that runs, or ran last, and who allocated in it.
func (t *Tracker) glanceAtCell(p *process, k *model.Kernel) {
	w := p.lastCell
	if len(p.open) > 0 {
		w, k.Running = p.open[0], true
	}
	if w != nil && !w.dropped {
		cell := t.presenter.window(t.table.whole(w))
		k.Cell = &cell
		if innermost := w; k.Running {
			innermost = p.open[len(p.open)-1]
			if s := innermost.statement; s != nil && s.isOpen {
				statement := t.presenter.window(t.table.whole(s))
				k.Statement = &statement
			}
		}
	}
	switch {
	case t.marked != nil:
		k.Growth = "mark"
		t.grownSince(p, k)
	case k.Cell != nil:
		k.Growth = "cell"
		k.Allocations, k.Coverage = t.grownIn(w, k)
	}
}

// grownIn lists who allocated in a cell, what grew most in front.
func (t *Tracker) grownIn(w *window, k *model.Kernel) ([]model.Allocation, map[string]model.Coverage) {
	coverage := map[string]model.Coverage{}
	whole := t.table.whole(w)
	all := t.lister.allocationsOf(whole, nil, coverage)
	complete := t.processes.changesMissing() == 0 && t.allocations.dropped == 0
	for m, tallied := range whole.tallies {
		c := coverage[m.String()]
		if w.isOpen { // they are of this very moment, and figures of the last boundary
			c.Exact = complete && !slices.Contains(whole.shed, m) && !tallied.wrong && !whole.missesStacks(m)
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
func (t *Tracker) grownSince(p *process, k *model.Kernel) {
	s := t.processes.sessionOf(p)
	if s == nil {
		return
	}
	whole := t.table.whole(s)
	for key, h := range t.allocations.held {
		if key.pid != p.info.PID {
			continue
		}
		before := t.marked.held[key]
		var moved []doneTally
		differ := func(stack uint64, now, before event.Bytes) {
			if now != before {
				moved = append(moved, doneTally{stack: stack, allocated: max(0, now-before), freed: max(0, before-now),
					atPeak: now})
			}
		}
		for stack, now := range h.byStack {
			differ(stack, now, before[stack])
		}
		for stack, was := range before {
			if _, there := h.byStack[stack]; !there {
				differ(stack, 0, was)
			}
		}
		grown := t.divided.sameLines(moved)
		slices.SortFunc(grown, func(x, y doneTally) int {
			return cmp.Or(cmp.Compare(y.allocated-y.freed, x.allocated-x.freed), cmp.Compare(x.stack, y.stack))
		})
		for i, y := range grown {
			if i >= maxGrown {
				k.Unlisted++
				k.UnlistedNet += int64(y.allocated - y.freed)
				continue
			}
			one := t.lister.allocation(whole, key.meter, y)
			one.Allocated, one.Freed = 0, 0
			k.Allocations = append(k.Allocations, one)
		}
	}
	slices.SortStableFunc(k.Allocations, func(x, y model.Allocation) int {
		return cmp.Or(cmp.Compare(y.Net, x.Net), cmp.Compare(x.Meter, y.Meter),
			slices.CompareFunc(x.Stack, y.Stack, orderFrames))
	})
}

// glanceAtChildren lists the processes below one that live.
func (t *Tracker) glanceAtChildren(p *process, k *model.Kernel) {
	for _, c := range t.processes.root(p.root).living {
		if c == p || !t.processes.isBelow(c, p) {
			continue
		}
		k.Children = append(k.Children, model.Child{PID: int(c.info.PID), Command: c.info.Command,
			Meters: t.figurer.figureMap(c.certainLife(), nil, false, c.info.Python != "")})
	}
	resident := event.Resident.String()
	slices.SortFunc(k.Children, func(x, y model.Child) int {
		return cmp.Or(cmp.Compare(y.Meters[resident].End, x.Meters[resident].End), cmp.Compare(x.PID, y.PID))
	})
	if n := len(k.Children); n > maxGlancedAt {
		k.Children, k.ChildrenUnlisted = k.Children[:maxGlancedAt], n-maxGlancedAt
	}
}

// glanceAtVariables lists what is largest by name, as it was when it was looked for.
func (t *Tracker) glanceAtVariables(p *process, k *model.Kernel) {
	i := slices.IndexFunc(t.early, func(e *event.Variables) bool { return e.PID == p.info.PID })
	if i < 0 || p.ended {
		return
	}
	e := t.early[i]
	all, names := t.variablesOf(e)
	slices.SortStableFunc(all, largerVariable)
	k.Variables, k.Names, k.VariablesNS = all[:min(len(all), maxGlancedAt)], &names, t.session.since(e.Time)
}

// lacks is what is known to be missing so far.
func (t *Tracker) lacks() model.Lacks {
	l := model.Lacks{Reasons: []string{}, SteppedDown: []string{}}
	add := func(text string) { l.Reasons = append(l.Reasons, text) }
	down := map[string]bool{}
	for _, r := range t.processes.roots {
		l.Made += r.stream.made
		l.Delivered += r.stream.count
		r.isDown(down)
		l.Reasons = append(l.Reasons, r.refusals()...)
		if r.last != nil {
			for _, n := range r.last.Unknown {
				l.UnknownFrees += n
			}
		}
	}
	if missing := t.processes.changesMissing(); missing > 0 {
		add(words.ChangesMissing(missing, l.Made))
	}
	for _, one := range t.invariants.broken() {
		add(one)
	}
	if t.table.dropped > 0 {
		add(words.WindowsMissing(uint64(t.table.dropped)))
	}
	if t.unseen > 0 {
		add(words.CellsUnseen(uint64(t.unseen)))
	}
	if t.allocations.dropped > 0 {
		add(words.AllocationsMissing(uint64(t.allocations.dropped)))
	}
	if why := t.allocations.givenUp; why != "" {
		add(why)
	}
	if t.askedDropped > 0 {
		add(words.RefusalsMissing(t.askedDropped))
	}
	figures, attribution := t.limits.Reasons()
	l.Reasons = append(append(l.Reasons, figures...), attribution...)
	slices.Sort(l.Reasons)
	l.Reasons = slices.Compact(l.Reasons)
	for what := range down {
		l.SteppedDown = append(l.SteppedDown, what)
	}
	slices.Sort(l.SteppedDown)
	return l
}

// isDown adds what is stepped down just now.
func (r *root) isDown(down map[string]bool) {
	for m, s := range r.shed {
		if s.now {
			down[m.String()] = true
		}
	}
	for text, s := range r.unwalked {
		if s.now {
			down[text] = true
		}
	}
}

// refusals are what found no room in the kernel so far, in words.
func (r *root) refusals() (reasons []string) {
	refused := [event.RefusedKinds]string{
		event.RefusedBoundaries: event.LostBoundaries, event.RefusedStatements: event.LostStatements,
		event.RefusedMarkers:  event.LostMarkers,
		event.RefusedReadings: event.LostReadings,
	}
	for kind, n := range r.doubts.Refused {
		if n > 0 {
			reasons = append(reasons, words.Lost(refused[kind], n))
		}
	}
	if n := r.doubts.Untraced; n > 0 {
		reasons = append(reasons, words.Lost(event.LostProcesses, n))
	}
	return reasons
}
