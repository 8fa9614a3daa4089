package audit

import (
	"cmp"
	"maps"
	"slices"

	"ipytracer/attribution/internal/rows"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/freeing"
	"ipytracer/model"
)

// Site is a place in the code, in every run of its cell, with the blocks allocated there that still live.
type Site struct {
	siteKey
	Frames []model.Frame // of the latest run; of several stacks in it those of the first
	latest int           // the execution number of that run
	stack  uint64
	unseen bool // the blocks were allocated while they were not recorded
	by     map[event.HolderKind]*portion
	roots  map[rootKey]*portion // roots has the blocks that have a name, by that
}

// rootKey identifies a holder of blocks.
type rootKey struct {
	kind event.HolderKind
	name string
}

// of returns the portions of a kind, by holder.
func (s *Site) of(kind event.HolderKind) (all []*portion) {
	for _, key := range slices.SortedFunc(maps.Keys(s.roots),
		func(a, b rootKey) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name)) }) {
		if key.kind == kind {
			all = append(all, s.roots[key])
		}
	}
	return all
}

type siteKey struct {
	pid   int32
	meter event.Meter
	text  string // of the cell
	where string // the calls, whichever run of the cell they were in
}

// notAsked stands for blocks of which no holder was looked for.
const notAsked = event.HolderKind("unknown")

// portion is a part of the blocks that a site left behind.
type portion struct {
	bytes   event.Bytes
	count   int64
	oldest  event.Nanoseconds
	runs    map[*windows.Window]event.Bytes // by cell; nil stands for no cell
	failed  event.Bytes                     // allocated by statements that failed
	largest event.Bytes
	holder  event.Holder // of the largest
	ways    freeing.Ways
	lost    freeing.Lost
}

func (p *portion) add(b block, holder event.Holder) {
	if p.runs == nil {
		p.runs, p.ways, p.lost = map[*windows.Window]event.Bytes{}, freeing.Ways{}, freeing.Lost{}
	}
	p.ways.Add(b.size, holder)
	p.lost.Add(holder.Lost)
	if p.count == 0 || b.at < p.oldest {
		p.oldest = b.at
	}
	p.bytes += b.size
	p.count++
	if b.birth != nil {
		p.runs[b.birth.Cell] += b.size
		if b.birth.Failed() {
			p.failed += b.size
		}
	}
	if b.size > p.largest || b.size == p.largest && holder.Address < p.holder.Address {
		p.largest, p.holder = b.size, holder
	}
}

// executions returns the runs of cells that a portion comes from, and their In[N], 0 where there is none.
func (p *portion) executions() (executions, counts []int) {
	var cells []*windows.Window
	for cell := range p.runs {
		if cell != nil {
			cells = append(cells, cell)
		}
	}
	slices.SortFunc(cells, func(a, b *windows.Window) int { return cmp.Compare(a.Execution, b.Execution) })
	executions, counts = []int{}, []int{}
	for _, c := range cells[:min(len(cells), maxRuns)] {
		executions = append(executions, c.Execution)
		counts = append(counts, max(c.Count, 0))
	}
	return executions, counts
}

// join makes one portion of several.
func join(parts ...*portion) *portion {
	all := &portion{runs: map[*windows.Window]event.Bytes{}, ways: freeing.Ways{}, lost: freeing.Lost{}}
	for _, p := range parts {
		if p == nil {
			continue
		}
		if all.count == 0 || p.oldest < all.oldest {
			all.oldest = p.oldest
		}
		all.bytes += p.bytes
		all.count += p.count
		all.failed += p.failed
		for cell, bytes := range p.runs {
			all.runs[cell] += bytes
		}
		all.ways.Join(p.ways)
		all.lost.Join(p.lost)
		if p.largest > all.largest {
			all.largest, all.holder = p.largest, p.holder
		}
	}
	return all
}

// survivors groups the blocks that are left by the place of their allocation.
type survivors struct {
	t     *rows.Rows
	sites map[siteKey]*Site
	Named map[Named]SiteName
	// groups are the names of the views that hold memory, by its address.
	groups map[viewAt]string
}

// Named is a stack in a run of a cell.
type Named struct {
	PID   int32
	Stack uint64
	Cell  *windows.Window
}

type SiteName struct {
	Frames      []model.Frame
	Text, Where string
}

// NewSurvivors returns no survivors; t names the code that made them.
func NewSurvivors(t *rows.Rows) *survivors {
	return &survivors{t: t, sites: map[siteKey]*Site{}, Named: map[Named]SiteName{}}
}

// add files a block under its site and holder.
func (s *survivors) add(pid int32, m event.Meter, b block, kind event.HolderKind, holder event.Holder) {
	one := s.Site(pid, m, b.stack, b.birth)
	if one.by[kind] == nil {
		one.by[kind] = &portion{}
	}
	one.by[kind].add(b, holder)
	root := rootKey{kind: kind}
	switch kind {
	case event.HeldByOutput, event.HeldByTraceback:
		root.name = freeing.RootName(holder)
	case heldByView:
		root.name = s.groups[viewAt{pid, holder.Address}]
	case event.HeldByModule:
		root.name = freeing.RootOf(holder)
	case heldByClass:
		root.name = freeing.AttributeOf(holder)
	case event.HeldByThread:
		root.name = holder.Function + " " + freeing.RootOf(holder)
	}
	if one.roots[root] == nil {
		one.roots[root] = &portion{}
	}
	one.roots[root].add(b, holder)
}

// Site returns the site that a stack stands for, and adds it if it is new.
func (s *survivors) Site(pid int32, m event.Meter, stack uint64, at *windows.Birth) *Site {
	var cell *windows.Window
	execution := 0
	if at != nil && at.Cell != nil {
		cell, execution = at.Cell, at.Cell.Execution
	}
	key := Named{pid, stack, cell}
	name, ok := s.Named[key]
	if !ok {
		name = s.name(key, at)
		s.Named[key] = name
	}
	of := siteKey{pid, m, name.Text, name.Where}
	one := s.sites[of]
	if one == nil {
		one = &Site{siteKey: of, by: map[event.HolderKind]*portion{}, roots: map[rootKey]*portion{}}
		s.sites[of] = one
	}
	if later := cmp.Or(cmp.Compare(execution, one.latest), cmp.Compare(one.stack, stack)); one.Frames == nil ||
		later > 0 && len(name.Frames) > 0 {
		one.Frames, one.latest, one.stack = name.Frames, execution, stack
	}
	return one
}

// inOrder returns the sites in an order that depends on them only.
func (s *survivors) inOrder() []*Site {
	return slices.SortedFunc(maps.Values(s.sites), func(a, b *Site) int {
		return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.meter, b.meter), cmp.Compare(a.text, b.text),
			cmp.Compare(a.where, b.where))
	})
}

// name returns the name of a stack's site.
func (s *survivors) name(key Named, at *windows.Birth) SiteName {
	n := SiteName{}
	seen := key.Cell
	if seen == nil {
		seen = s.t.Processes.SessionOf(s.t.Processes.ByPID[key.PID])
	} else {
		n.Text = s.t.Texts.TextOf(key.Cell)
	}
	if stack := s.t.Stacks.Of(key.Stack); stack != nil && seen != nil {
		n.Frames = s.t.Symbolizer.Frames(seen, stack)
	}
	if len(n.Frames) == 0 && key.Cell != nil && at.Line > 0 { // the statement is known even where no stack is
		n.Frames = []model.Frame{windows.FrameOf(key.Cell, at.Line)}
	}
	keyed := make([]model.Frame, len(n.Frames))
	for i, f := range n.Frames {
		f.File = stacks.AnyRun(f.File)
		keyed[i] = f
	}
	n.Where = stacks.FrameKey(keyed)
	return n
}

// Kinds of holder that only a judge uses, for blocks that have verdicts of their own.
const (
	heldByView  = event.HolderKind("view")  // only views have it
	heldByClass = event.HolderKind("class") // a class of the notebook's, or a cached function, has it
	heldLost    = event.HolderKind("lost")  // a cycle that the collector does not see has it
	heldWaiting = event.HolderKind("waits") // garbage, which the collector frees when it next runs
	// heldInside: no Python object was found to hold the block, but a C++ object may, see [event.Facts.Inside]
	heldInside = event.HolderKind("inside")
)
