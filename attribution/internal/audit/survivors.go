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
	Frames []model.Frame // in the latest run; of several stacks in it, those of the first
	latest int           // the execution number of the latest run
	stack  uint64        // the stack of Frames
	unseen bool          // the blocks were allocated while they were not recorded
	by     map[event.HolderKind]*portion
	roots  map[rootKey]*portion // the same blocks, by kind and name of their holder
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
	text  string // the cell's text
	where string // the calls, the same for all runs of the cell
}

// notAsked is the kind of holder of blocks for which no holder was searched.
const notAsked = event.HolderKind("unknown")

// portion is a part of the blocks that a site left behind.
type portion struct {
	bytes   event.Bytes
	count   int64
	oldest  event.Nanoseconds
	runs    map[*windows.Window]event.Bytes // by cell; nil stands for no cell
	failed  event.Bytes                     // bytes that failed statements allocated
	largest event.Bytes                     // bytes of the largest block
	holder  event.Holder                    // the holder of the largest block
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

// executions returns the execution numbers of the cells that a portion comes from, and the N of their In[N], 0 for
// none.
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

// sumOf makes one portion of several.
func sumOf(parts ...*portion) *portion {
	sum := &portion{runs: map[*windows.Window]event.Bytes{}, ways: freeing.Ways{}, lost: freeing.Lost{}}
	for _, p := range parts {
		if p == nil {
			continue
		}
		if sum.count == 0 || p.oldest < sum.oldest {
			sum.oldest = p.oldest
		}
		sum.bytes += p.bytes
		sum.count += p.count
		sum.failed += p.failed
		for cell, bytes := range p.runs {
			sum.runs[cell] += bytes
		}
		sum.ways.Join(p.ways)
		sum.lost.Join(p.lost)
		if p.largest > sum.largest {
			sum.largest, sum.holder = p.largest, p.holder
		}
	}
	return sum
}

// survivors groups the blocks that are left by the place of their allocation.
type survivors struct {
	t     *rows.Rows
	sites map[siteKey]*Site
	Named map[Named]SiteName
	// groups has the name of the group of views that hold a piece of memory.
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

// NewSurvivors returns empty survivors. t names the code that allocated them.
func NewSurvivors(t *rows.Rows) *survivors {
	return &survivors{t: t, sites: map[siteKey]*Site{}, Named: map[Named]SiteName{}}
}

// add files a block under its site and holder.
func (s *survivors) add(pid int32, m event.Meter, b block, kind event.HolderKind, holder event.Holder) {
	site := s.Site(pid, m, b.stack, b.birth)
	if site.by[kind] == nil {
		site.by[kind] = &portion{}
	}
	site.by[kind].add(b, holder)
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
	if site.roots[root] == nil {
		site.roots[root] = &portion{}
	}
	site.roots[root].add(b, holder)
}

// Site returns the site of a stack with a birth, and adds a new one.
func (s *survivors) Site(pid int32, m event.Meter, stack uint64, birth *windows.Birth) *Site {
	var cell *windows.Window
	execution := 0
	if birth != nil && birth.Cell != nil {
		cell, execution = birth.Cell, birth.Cell.Execution
	}
	key := Named{pid, stack, cell}
	name, ok := s.Named[key]
	if !ok {
		name = s.name(key, birth)
		s.Named[key] = name
	}
	site := siteKey{pid, m, name.Text, name.Where}
	found := s.sites[site]
	if found == nil {
		found = &Site{siteKey: site, by: map[event.HolderKind]*portion{}, roots: map[rootKey]*portion{}}
		s.sites[site] = found
	}
	if newer := cmp.Or(cmp.Compare(execution, found.latest), cmp.Compare(found.stack, stack)); found.Frames == nil ||
		newer > 0 && len(name.Frames) > 0 {
		found.Frames, found.latest, found.stack = name.Frames, execution, stack
	}
	return found
}

// inOrder returns the sites in an order that is the same in each run.
func (s *survivors) inOrder() []*Site {
	return slices.SortedFunc(maps.Values(s.sites), func(a, b *Site) int {
		return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.meter, b.meter), cmp.Compare(a.text, b.text),
			cmp.Compare(a.where, b.where))
	})
}

// name returns the name of a stack's site.
func (s *survivors) name(key Named, birth *windows.Birth) SiteName {
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
	if len(n.Frames) == 0 && key.Cell != nil && birth.Line > 0 { // the statement is known even where no stack is
		n.Frames = []model.Frame{windows.FrameOf(key.Cell, birth.Line)}
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
	heldByView  = event.HolderKind("view")  // only views hold the block
	heldByClass = event.HolderKind("class") // a class of the notebook, or a cached function, holds it
	heldLost    = event.HolderKind("lost")  // a cycle that the garbage collector does not see holds it
	heldWaiting = event.HolderKind("waits") // garbage: the collector frees it when it next runs
	// heldInside: no known Python object holds the block, but a C++ object may, see [event.Facts.Inside]
	heldInside = event.HolderKind("inside")
)
