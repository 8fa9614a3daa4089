// Package glance reports on a session while it goes on.
package glance

import (
	"cmp"
	"slices"

	"ipytracer/attribution/internal/activity"
	"ipytracer/attribution/internal/blocks"
	"ipytracer/attribution/internal/rows"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
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

// Glancer reports on a session while it goes on.
type Glancer struct {
	*rows.Rows
	lister      *blocks.Lister
	allocations *blocks.Blocks
	activity    *activity.Activity
	marked      *blocks.Baseline // nil for none
}

// New returns a glancer at a session.
func New(r *rows.Rows, l *blocks.Lister, of *blocks.Blocks, ac *activity.Activity) *Glancer {
	return &Glancer{Rows: r, lister: l, allocations: of, activity: ac}
}

// Mark records the current holdings, or drops the mark, for [Tracker.Mark].
func (gl *Glancer) Mark(now bool) {
	gl.marked = nil
	if now {
		gl.marked = gl.allocations.Baseline()
	}
}

// Glance returns the current state of the session.
func (gl *Glancer) Glance() *model.Glance {
	g := &model.Glance{Schema: model.GlanceSchema, Host: gl.Session.Host(),
		ElapsedNS: gl.Session.Since(gl.Session.Last),
		Cells:     gl.Processes.Cells(), Kernels: []model.Kernel{}, Lacks: gl.Lacks()}
	for _, p := range gl.Processes.Order {
		if p.Began == 0 || p.Parent != 0 && p.LastCell == nil && len(p.Open) == 0 ||
			gl.Processes.ByPID[p.Info.PID] != p {
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

func (gl *Glancer) kernel(p *windows.Process) model.Kernel {
	k := model.Kernel{
		PID: int(p.Info.PID), Command: p.Info.Command, Python: p.Info.Python, IPython: p.Info.IPython,
		Frontend: p.Info.Frontend, Ended: p.Ended,
		Growth: "none", Allocations: []model.Allocation{}, Children: []model.Child{},
	}
	if len(p.Limits) > 0 {
		limit := p.Limits[0]
		k.Limit = &limit
	}
	var session *windows.Window
	if p.Session != nil {
		session = gl.Table.Whole(p.Session)
	}
	k.Meters = gl.Figurer.FigureMap(p.CertainLife(), session, false, p.Info.Python != "")
	if session != nil {
		k.Tree = gl.Figurer.TreeOf(session, k.Meters)
	}
	gl.glanceAtCell(p, &k)
	gl.glanceAtChildren(p, &k)
	gl.glanceAtVariables(p, &k)
	return k
}

// glanceAtCell adds the cell that runs, or ran last, and the allocations in it.
func (gl *Glancer) glanceAtCell(p *windows.Process, k *model.Kernel) {
	w := p.LastCell
	if len(p.Open) > 0 {
		w, k.Running = p.Open[0], true
	}
	if w != nil && !w.Dropped {
		cell := gl.Presenter.Window(gl.Table.Whole(w))
		k.Cell = &cell
		if innermost := w; k.Running {
			innermost = p.Open[len(p.Open)-1]
			if s := innermost.Statement; s != nil && s.IsOpen {
				statement := gl.Presenter.Window(gl.Table.Whole(s))
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
func (gl *Glancer) grownIn(w *windows.Window, k *model.Kernel) ([]model.Allocation, map[string]model.Coverage) {
	coverage := map[string]model.Coverage{}
	whole := gl.Table.Whole(w)
	all := gl.lister.AllocationsOf(whole, nil, coverage)
	complete := gl.Processes.ChangesMissing() == 0 && gl.allocations.Missing() == 0
	for m, tallied := range whole.Tallies {
		c := coverage[m.String()]
		if w.IsOpen { // tallies are of this moment, figures of the last boundary
			c.Exact = complete && !slices.Contains(whole.Paused, m) && !tallied.Wrong && !whole.MissesStacks(m)
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
func (gl *Glancer) grownSince(p *windows.Process, k *model.Kernel) {
	s := gl.Processes.SessionOf(p)
	if s == nil {
		return
	}
	whole := gl.Table.Whole(s)
	for key, h := range gl.allocations.Holdings.Held {
		if key.PID != p.Info.PID {
			continue
		}
		before := gl.marked.Held[key]
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
		grown := gl.lister.Merger.SameLines(moved)
		slices.SortFunc(grown, func(x, y stacks.Sum) int {
			return cmp.Or(cmp.Compare(y.Allocated-y.Freed, x.Allocated-x.Freed), cmp.Compare(x.Stack, y.Stack))
		})
		for i, y := range grown {
			if i >= maxGrown {
				k.Unlisted++
				k.UnlistedNet += int64(y.Allocated - y.Freed)
				continue
			}
			one := gl.lister.Allocation(whole, key.Meter, y)
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
func (gl *Glancer) glanceAtChildren(p *windows.Process, k *model.Kernel) {
	for _, c := range gl.Processes.Tree(p.Root).Living {
		if c == p || !gl.Processes.IsBelow(c, p) {
			continue
		}
		k.Children = append(k.Children, model.Child{PID: int(c.Info.PID), Command: c.Info.Command,
			Meters: gl.Figurer.FigureMap(c.CertainLife(), nil, false, c.Info.Python != "")})
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
func (gl *Glancer) glanceAtVariables(p *windows.Process, k *model.Kernel) {
	i := slices.IndexFunc(gl.Namespaces.Early, func(e *event.Variables) bool { return e.PID == p.Info.PID })
	if i < 0 || p.Ended {
		return
	}
	e := gl.Namespaces.Early[i]
	all, names := gl.Namespaces.VariablesOf(e)
	slices.SortStableFunc(all, rows.LargerVariable)
	k.Variables, k.Names, k.VariablesNS = all[:min(len(all), maxGlancedAt)], &names, gl.Session.Since(e.Time)
}

// Lacks returns the losses that are known so far.
func (gl *Glancer) Lacks() model.Lacks {
	l := model.Lacks{Reasons: []string{}, SteppedDown: []string{}}
	add := func(text string) { l.Reasons = append(l.Reasons, text) }
	down := map[string]bool{}
	for _, r := range gl.Processes.Trees {
		l.Made += r.Stream.Made
		l.Delivered += r.Stream.Count
		r.AddPaused(down)
		for _, refused := range r.Refusals() {
			add(words.Lost(refused.Reason, refused.Count))
		}
		if r.Last != nil {
			for _, n := range r.Last.Unknown {
				l.UnknownFrees += n
			}
		}
	}
	if missing := gl.Processes.ChangesMissing(); missing > 0 {
		add(words.ChangesMissing(missing, l.Made))
	}
	l.Reasons = append(l.Reasons, gl.activity.Invariants.Reasons()...)
	if gl.Table.Dropped > 0 {
		add(words.WindowsMissing(uint64(gl.Table.Dropped)))
	}
	if gl.activity.Unseen > 0 {
		add(words.CellsUnseen(uint64(gl.activity.Unseen)))
	}
	if gl.allocations.Missing() > 0 {
		add(words.AllocationsMissing(uint64(gl.allocations.Missing())))
	}
	if why := gl.allocations.GivenUp; why != "" {
		add(why)
	}
	if gl.activity.Requests.Dropped > 0 {
		add(words.RefusalsMissing(gl.activity.Requests.Dropped))
	}
	figures, attribution := gl.Limits.Reasons()
	l.Reasons = append(append(l.Reasons, figures...), attribution...)
	slices.Sort(l.Reasons)
	l.Reasons = slices.Compact(l.Reasons)
	for what := range down {
		l.SteppedDown = append(l.SteppedDown, what)
	}
	slices.Sort(l.SteppedDown)
	return l
}
