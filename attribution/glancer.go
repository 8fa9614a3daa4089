package attribution

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
	maxGlanced   = 64  // processes
	maxGrown     = 200 // stacks of one meter of a process
	maxGlancedAt = 50  // children, and variables, of one process
)

// glancer reports on a session while it goes on.
type glancer struct {
	*rows.Rows
	lister      *blocks.Lister
	allocations *blocks.Blocks
	activity    *activity.Activity
	marked      *blocks.Baseline // nil for none
}

// newGlancer returns a glancer at a session.
func newGlancer(r *rows.Rows, l *blocks.Lister, a *blocks.Blocks, ac *activity.Activity) *glancer {
	return &glancer{Rows: r, lister: l, allocations: a, activity: ac}
}

// Mark records the current holdings, or drops the mark, for [Tracker.Mark].
func (gl *glancer) Mark(now bool) {
	gl.marked = nil
	if now {
		gl.marked = gl.allocations.Baseline()
	}
}

// Glance returns the current state of the session.
func (gl *glancer) Glance() *model.Glance {
	g := &model.Glance{Schema: model.GlanceSchema, Host: gl.Session.Host(),
		ElapsedNS: gl.Session.Since(gl.Session.Last),
		Cells:     gl.Processes.Cells(), Kernels: []model.Kernel{}, Lacks: gl.Lacks()}
	for _, process := range gl.Processes.Order {
		ranCells := process.LastCell != nil || len(process.Open) > 0
		wasReplaced := gl.Processes.ByPID[process.Info.PID] != process
		if process.Began == 0 || process.Parent != 0 && !ranCells || wasReplaced {
			continue
		}
		if len(g.Kernels) == maxGlanced {
			g.Truncated = true
			break
		}
		g.Kernels = append(g.Kernels, gl.kernel(process))
	}
	return g
}

func (gl *glancer) kernel(process *windows.Process) model.Kernel {
	k := model.Kernel{
		PID: int(process.Info.PID), Command: process.Info.Command, Python: process.Info.Python,
		IPython: process.Info.IPython, Frontend: process.Info.Frontend, Ended: process.Ended,
		Growth: "none", Allocations: []model.Allocation{}, Children: []model.Child{},
	}
	if len(process.Limits) > 0 {
		limit := process.Limits[0]
		k.Limit = &limit
	}
	var session *windows.Window
	if process.Session != nil {
		session = gl.Table.Whole(process.Session)
	}
	k.Meters = gl.Figurer.FigureMap(process.CertainLife(), session, false, process.Info.Python != "")
	if session != nil {
		k.Tree = gl.Figurer.TreeOf(session, k.Meters)
	}
	gl.glanceAtCell(process, &k)
	gl.glanceAtChildren(process, &k)
	gl.glanceAtVariables(process, &k)
	return k
}

// glanceAtCell adds the cell that runs, or ran last, and the allocations in it.
func (gl *glancer) glanceAtCell(process *windows.Process, kernel *model.Kernel) {
	window := process.LastCell
	if len(process.Open) > 0 {
		window, kernel.Running = process.Open[0], true
	}
	if window != nil && !window.Dropped {
		cell := gl.Presenter.Window(gl.Table.Whole(window))
		kernel.Cell = &cell
		if innermost := window; kernel.Running {
			innermost = process.Open[len(process.Open)-1]
			if s := innermost.Statement; s != nil && s.IsOpen {
				statement := gl.Presenter.Window(gl.Table.Whole(s))
				kernel.Statement = &statement
			}
		}
	}
	switch {
	case gl.marked != nil:
		kernel.Growth = "mark"
		gl.grownSince(process, kernel)
	case kernel.Cell != nil:
		kernel.Growth = "cell"
		kernel.Allocations, kernel.Coverage = gl.grownIn(window, kernel)
	}
}

// grownIn lists the allocations in a cell, those that grew most first, with the coverage by meter.
func (gl *glancer) grownIn(
	window *windows.Window, kernel *model.Kernel,
) ([]model.Allocation, map[string]model.Coverage) {
	coverage := map[string]model.Coverage{}
	whole := gl.Table.Whole(window)
	all := gl.lister.AllocationsOf(whole, nil, coverage)
	complete := gl.Processes.ChangesMissing() == 0 && gl.allocations.Missing() == 0
	for m, tallied := range whole.Tallies {
		c := coverage[m.String()]
		if window.IsOpen { // tallies are of this moment, figures of the last boundary
			c.Exact = complete && !slices.Contains(whole.Paused, m) && !tallied.Wrong && !whole.MissesStacks(m)
			c.Rest = max(0, c.Rest)
		}
		coverage[m.String()] = c
		kernel.Unlisted += c.Unlisted
		kernel.UnlistedNet += c.UnlistedNet
	}
	slices.SortStableFunc(all, func(x, y model.Allocation) int { return cmp.Compare(y.Net, x.Net) })
	if len(all) == 0 {
		return []model.Allocation{}, nil
	}
	return slices.Clip(all), coverage
}

// grownSince lists the stacks of a process whose memory has changed since [glancer.Mark], with the change.
func (gl *glancer) grownSince(process *windows.Process, kernel *model.Kernel) {
	window := gl.Processes.SessionOf(process)
	if window == nil {
		return
	}
	whole := gl.Table.Whole(window)
	for key, h := range gl.allocations.Holdings.Held {
		if key.PID != process.Info.PID {
			continue
		}
		before := gl.marked.Held[key]
		var moved []stacks.Sum
		addIfMoved := func(stack uint64, now, before event.Bytes) {
			if now != before {
				moved = append(moved, stacks.Sum{Stack: stack, Allocated: max(0, now-before), Freed: max(0, before-now),
					AtPeak: now})
			}
		}
		for stack, now := range h.ByStack {
			addIfMoved(stack, now, before[stack])
		}
		for stack, held := range before {
			if _, isHeld := h.ByStack[stack]; !isHeld {
				addIfMoved(stack, 0, held)
			}
		}
		grown := gl.lister.Merger.SameLines(moved)
		slices.SortFunc(grown, func(x, y stacks.Sum) int {
			return cmp.Or(cmp.Compare(y.Allocated-y.Freed, x.Allocated-x.Freed), cmp.Compare(x.Stack, y.Stack))
		})
		for i, y := range grown {
			if i >= maxGrown {
				kernel.Unlisted++
				kernel.UnlistedNet += int64(y.Allocated - y.Freed)
				continue
			}
			row := gl.lister.Allocation(whole, key.Meter, y)
			row.Allocated, row.Freed = 0, 0
			kernel.Allocations = append(kernel.Allocations, row)
		}
	}
	slices.SortStableFunc(kernel.Allocations, func(x, y model.Allocation) int {
		return cmp.Or(cmp.Compare(y.Net, x.Net), cmp.Compare(x.Meter, y.Meter),
			slices.CompareFunc(x.Stack, y.Stack, stacks.OrderFrames))
	})
}

// glanceAtChildren lists the live processes below a process.
func (gl *glancer) glanceAtChildren(process *windows.Process, kernel *model.Kernel) {
	for _, child := range gl.Processes.Tree(process.Root).Living {
		if child == process || !gl.Processes.IsBelow(child, process) {
			continue
		}
		kernel.Children = append(kernel.Children, model.Child{PID: int(child.Info.PID), Command: child.Info.Command,
			Meters: gl.Figurer.FigureMap(child.CertainLife(), nil, false, child.Info.Python != "")})
	}
	resident := event.Resident.String()
	slices.SortFunc(kernel.Children, func(x, y model.Child) int {
		return cmp.Or(cmp.Compare(y.Meters[resident].End, x.Meters[resident].End), cmp.Compare(x.PID, y.PID))
	})
	if n := len(kernel.Children); n > maxGlancedAt {
		kernel.Children, kernel.ChildrenUnlisted = kernel.Children[:maxGlancedAt], n-maxGlancedAt
	}
}

// glanceAtVariables lists the largest variables by name, as of the last search.
func (gl *glancer) glanceAtVariables(process *windows.Process, kernel *model.Kernel) {
	i := slices.IndexFunc(gl.Namespaces.Early, func(e *event.Variables) bool { return e.PID == process.Info.PID })
	if i < 0 || process.Ended {
		return
	}
	e := gl.Namespaces.Early[i]
	all, names := gl.Namespaces.VariablesOf(e)
	slices.SortStableFunc(all, rows.LargerVariable)
	kernel.Variables, kernel.Names = all[:min(len(all), maxGlancedAt)], &names
	kernel.VariablesNS = gl.Session.Since(e.Time)
}

// Lacks returns the losses that are known so far.
func (gl *glancer) Lacks() model.Lacks {
	l := model.Lacks{Reasons: []string{}, SteppedDown: []string{}}
	add := func(text string) { l.Reasons = append(l.Reasons, text) }
	paused := map[string]bool{}
	for _, tree := range gl.Processes.Trees {
		l.Made += tree.Stream.Made
		l.Delivered += tree.Stream.Count
		tree.AddPaused(paused)
		for _, refused := range tree.Refusals() {
			add(words.Lost(refused.Reason, refused.Count))
		}
		if tree.Last != nil {
			for _, n := range tree.Last.Unknown {
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
	for what := range paused {
		l.SteppedDown = append(l.SteppedDown, what)
	}
	slices.Sort(l.SteppedDown)
	return l
}
