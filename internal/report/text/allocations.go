package text

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// maxAllocations is the largest number of listed lines of each meter for a cell.
const maxAllocations = 5

// heapView shows the code that allocated.
type heapView struct{ *view }

// allocations shows, for the heaviest cells with known stacks, the allocations that lived at the cell's highest moment.
func (v heapView) allocations() {
	left := v.detailed()
	for _, b := range v.cells {
		if left <= 0 {
			return
		}
		c := v.fetch(b.id)
		v.detail(c)
		if slices.ContainsFunc(c.Allocations, func(a model.Allocation) bool { return a.Allocated >= WorthShowing }) {
			v.whoAllocated(*c)
			left--
		}
	}
}

// caller is a row of the table: the allocations of one meter whose stacks have the same text.
type caller struct {
	model.Allocation
	words.CallPath
	who   string      // the path in words, escaped
	of    model.Frame // the outermost call of a cell's code; zero if there is none
	most  int         // the largest number of calls of one stack; Calls is the smallest
	users bool        // a line of a cell or of the user's own files is on the stack
	// ahead: mimalloc reserved the memory for Arrow's pool, which hands it out block by block
	ahead bool
}

// callersOf returns the allocations of a cell by meter and call path, the largest at the peak first. Mapped memory is
// left out if at least half of it is arrays or blocks of malloc from the same path, which are listed themselves.
func callersOf(c *model.Window) []*caller {
	callers := groupCallers(c.Allocations)
	for _, c := range callers {
		c.who = escape.OneLine(c.Text(c.most), false, maxProse)
	}
	slices.SortStableFunc(callers, func(a, b *caller) int {
		return cmp.Or(cmp.Compare(b.AtPeak, a.AtPeak), cmp.Compare(b.Allocated, a.Allocated))
	})
	inner, pools := map[string]int64{}, map[string]bool{} // by path: bytes within mapped memory; Arrow allocated
	for _, c := range callers {
		pools[c.Key()] = pools[c.Key()] || c.Meter == arrowMeter
		if words.LiesWithin(c.Meter) {
			inner[c.Key()] = max(inner[c.Key()], c.AtPeak, c.Allocated)
		}
	}
	for _, c := range callers {
		if c.ahead = words.IsOutermost(c.Meter) && pools[c.Key()] && isReservation(c.AtPeak); c.ahead {
			c.who += " (reserved ahead for Arrow's pool)"
		}
	}
	return slices.DeleteFunc(callers, func(c *caller) bool {
		return words.IsOutermost(c.Meter) && 2*inner[c.Key()] >= max(c.AtPeak, c.Allocated)
	})
}

// groupCallers adds up the allocations of the same meter and call path, in the order of the first of each.
func groupCallers(allocations []model.Allocation) (callers []*caller) {
	known := map[string]*caller{}
	for _, a := range allocations {
		path := words.PathOf(a.Stack)
		key := a.Meter + "\x00" + path.Key()
		c := known[key]
		if c == nil {
			c = &caller{
				Allocation: model.Allocation{Meter: a.Meter}, CallPath: path, of: cellCall(a.Stack),
				users: slices.ContainsFunc(a.Stack, func(f model.Frame) bool {
					return f.InCell() || !f.Native && !model.IsLibrary(f.File)
				}),
			}
			known[key] = c
			callers = append(callers, c)
		}
		c.Calls, c.most = min(c.Calls, path.Calls), max(c.most, path.Calls)
		c.Allocated += a.Allocated
		c.Freed += a.Freed
		c.AtPeak += a.AtPeak
		c.Count += a.Count
		c.Sampled = c.Sampled || a.Sampled
	}
	return callers
}

// arrowMeter is the meter of memory from Arrow's pools.
const arrowMeter = "cpu.arrow"

// isReservation reports whether mapped memory consists of whole reservations of mimalloc, 1 GiB each (mimalloc 2 and 3,
// mi_option_arena_reserve), and at most 32 MiB more.
func isReservation(bytes int64) bool {
	const reservation, mostBeside = 1 << 30, 1 << 25
	return bytes >= reservation && bytes%reservation <= mostBeside
}

// cellCall returns the outermost call of a cell's code; the zero frame if there is none.
func cellCall(stack []model.Frame) (outermost model.Frame) {
	for _, f := range stack {
		if f.Execution > 0 {
			outermost = f
		}
	}
	return outermost
}

// about marks a figure as an estimate if it is from samples.
func (c *caller) about(figure string) string { return words.Sampled(figure, c.Sampled) }

// whoAllocated shows the table of one cell: the heaviest callers of each meter.
func (v heapView) whoAllocated(c model.Window) {
	callers := callersOf(&c)
	v.Heading(v.cellName(c) + ", who allocated")
	v.Prose("", doc.Dim("at peak = there at each meter's highest moment in the cell, whenever it was allocated"))
	v.Blank()
	t := doc.NewTable(doc.Left("meter"), doc.Bytes("at peak"), doc.Bytes("allocated"), doc.Bytes("freed").Drop(2),
		doc.Right("times").Drop(1), doc.Flex("who"))
	shown, rest := heaviest(callers)
	for _, a := range shown {
		t.Row(words.Meter(a.Meter), a.about(words.Bytes(a.AtPeak)), a.about(words.Bytes(a.Allocated)),
			doc.Dim(a.about(words.Bytes(a.Freed))), doc.Dim(a.about(fmt.Sprint(a.Count))), a.who)
	}
	v.Table(t)
	v.notListed(c, rest)
}

// heaviest chooses the rows from callers, which are sorted: the first maxAllocations of each meter, without tiny ones,
// and one meter after another. rest are the other callers.
func heaviest(callers []*caller) (shown, rest []*caller) {
	byMeter := map[string][]*caller{}
	var meters []string
	for _, c := range callers {
		chosen := byMeter[c.Meter]
		if chosen == nil {
			meters = append(meters, c.Meter)
		}
		isTiny := chosen != nil && max(c.AtPeak, c.Allocated) < chosen[0].AtPeak/1000
		if isTiny || len(chosen) == maxAllocations {
			rest = append(rest, c)
			continue
		}
		byMeter[c.Meter] = append(chosen, c)
	}
	for _, m := range meters {
		shown = append(shown, byMeter[m]...)
	}
	return shown, rest
}

// notListed says how much memory has no row, and how much has no stack.
func (v heapView) notListed(c model.Window, rest []*caller) {
	if len(rest) > 0 {
		v.Note("… and %s, none of which had more than %s at the peak.", words.Plural(len(rest), "more line"),
			words.Bytes(rest[0].AtPeak))
	}
	for _, id := range slices.Sorted(maps.Keys(c.Coverage)) {
		coverage := c.Coverage[id]
		if coverage.Rest > 0 {
			v.Note("%s: %s at the peak are not covered: made before the attach, or lost.", words.Meter(id),
				words.Bytes(coverage.Rest))
		}
		if coverage.Sampled > 0 {
			v.Prose("", doc.Dim(words.Meter(id)+": "+words.SampledLines(coverage.Sampled, coverage.SampledError)))
		} else if !coverage.Exact {
			v.Prose("",
				doc.Yellow(words.Meter(id)+": the lines do not add up to the byte: stacks or changes were missed."))
		}
	}
}

// Who returns a stack in words, such as "In[3] line 2 › ones", escaped.
func Who(stack []model.Frame) string { return escape.OneLine(words.Stack(stack), false, maxProse) }

// whoAllocatedShort shows, for the heaviest cells, the allocations that lived at their highest moments, in one table.
func (v heapView) whoAllocatedShort() {
	t := doc.NewTable(doc.Left("cell"), doc.Left("meter"), doc.Bytes("at peak"), doc.Bytes("allocated").Drop(2),
		doc.Right("times").Drop(1), doc.Flex("who"))
	left := v.detailed()
	var incomplete []string // labels of cells
	for _, s := range v.ranked {
		if s.id == 0 || left <= 0 {
			continue
		}
		cell := v.fetch(s.id)
		v.detail(cell)
		callers := callersOf(cell)
		callers = slices.DeleteFunc(callers, func(a *caller) bool {
			return a.Allocated < WorthShowing || words.IsOutermost(a.Meter) && !a.users
		})
		if len(callers) == 0 {
			continue
		}
		left--
		for _, c := range cell.Coverage {
			if !c.Exact {
				incomplete = append(incomplete, s.label)
				break
			}
		}
		v.shortRows(t, s.label, callers)
	}
	if t.Len() == 0 {
		return
	}
	v.Heading("Who allocated in them (at peak: of that, what was there at the cell's highest moment)")
	v.Table(t)
	if len(incomplete) > 0 {
		v.Prose("", doc.Dim("Not all of it is known in "+strings.Join(incomplete, ", ")+"; --full says how much."))
	}
}

// shortRows adds rows for the first callers of a cell, up to fewCallers. Callers with less than a sixteenth of the
// first one's memory have none.
func (v heapView) shortRows(t *doc.Table, label string, callers []*caller) {
	name := doc.Bold(label)
	for i, c := range callers[:min(len(callers), fewCallers)] {
		if i > 0 && c.AtPeak < callers[0].AtPeak/16 {
			return
		}
		t.Row(name, words.Meter(c.Meter), c.about(words.Bytes(c.AtPeak)), c.about(words.Bytes(c.Allocated)),
			doc.Dim(c.about(words.Count(uint64(max(0, c.Count))))), c.who)
		name = doc.Span{} // the following rows are of the same cell
	}
}

// The most rows in the tables of lines and of tensors, for each meter.
const (
	maxLineRows   = 8
	maxTensorRows = 10
)

// lines shows the user's lines that allocated most in the whole session. A line counts with all that it called.
func (v heapView) lines() {
	t := doc.NewTable(doc.Left("meter"), doc.Bytes("at peak"), doc.Bytes("allocated"), doc.Bytes("freed").Drop(2),
		doc.Bytes("net"), doc.Right("times").Drop(1), doc.Flex("line"))
	shown, first := map[string]int{}, map[string]int64{} // by meter: rows, and the bytes at the peak in the first one
	for _, l := range v.r.Lines {
		isUsers := !l.Native && (l.InCell() || !model.IsLibrary(l.File))
		isTiny := max(l.AtPeak, l.Allocated) < max(WorthShowing, first[l.Meter]/1000)
		if !isUsers || isTiny || shown[l.Meter] == maxLineRows {
			continue
		}
		if shown[l.Meter] == 0 {
			first[l.Meter] = l.AtPeak
		}
		shown[l.Meter]++
		text := words.Frame(&l.Frame)
		if source := v.textOf(l); source != "" {
			text += "  # " + source
		}
		about := func(what string) string { return words.Sampled(what, l.Sampled) }
		t.Row(words.Meter(l.Meter), about(words.Bytes(l.AtPeak)), about(words.Bytes(l.Allocated)),
			doc.Dim(about(words.Bytes(l.Freed))), about(words.Bytes(l.Net)), doc.Dim(about(fmt.Sprint(l.Count))),
			escape.OneLine(strings.TrimSpace(text), false, maxProse))
	}
	if t.Len() == 0 {
		return
	}
	v.Heading("Lines, with all that they called")
	v.Prose("", doc.Dim("at peak = there at the session's highest moment of the meter"))
	v.Blank()
	v.Table(t)
}

// tensors shows PyTorch's blocks that lived at the end.
func (v heapView) tensors() {
	if len(v.r.Tensors) == 0 {
		return
	}
	var bytes, count int64
	for _, group := range v.r.Tensors {
		bytes += group.Bytes
		count += group.Count
	}
	v.Heading("PyTorch's blocks that were there at the end")
	v.Note("%s, %s in all; sizes are as the allocator rounded them up", words.Plural(int(count), "block"),
		words.Bytes(bytes))
	v.Blank()
	t := doc.NewTable(doc.Left("meter"), doc.Bytes("bytes"), doc.Right("blocks"), doc.Bytes("of"),
		doc.Right("rounding").Drop(1), doc.Flex("who"))
	shown := min(len(v.r.Tensors), maxTensorRows)
	for _, group := range v.r.Tensors[:shown] {
		by := "(made before the attach, or its stack is not known)"
		if len(group.Stack) > 0 {
			by = Who(group.Stack)
		}
		t.Row(words.Meter(group.Meter), words.Bytes(group.Bytes), doc.Dim(fmt.Sprint(group.Count)),
			words.Bytes(group.Size), doc.Dim(words.Rounding(group)), by)
	}
	v.Table(t)
	if rest := v.r.Tensors[shown:]; len(rest) > 0 {
		v.Note("… and %s, none of more than %s.", words.Plural(len(rest), "more group"), words.Bytes(rest[0].Bytes))
	}
}
