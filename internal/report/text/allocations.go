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
	for _, one := range v.cells {
		if left <= 0 {
			return
		}
		c := v.fetch(one.id)
		v.detail(c)
		if slices.ContainsFunc(c.Allocations, func(a model.Allocation) bool { return a.Allocated >= WorthShowing }) {
			v.whoAllocated(*c)
			left--
		}
	}
}

// caller is a row of the table: the allocations of one meter that look alike in it.
type caller struct {
	model.Allocation
	words.CallPath
	who   string      // the path in words
	of    model.Frame // the outermost call of a cell's code; zero if there is none
	most  int         // calls
	users bool        // a line of a cell or of the user's own files is on the stack
	// ahead: memory that mimalloc has reserved below Arrow's pool, which hands it out block by block
	ahead bool
}

// callersOf returns the allocations of a cell, the most at the peak first. If arrays or blocks of malloc from the same
// lines are at least half of mapped memory, that memory is theirs, and is not listed again.
func callersOf(c *model.Window) []*caller {
	var callers []*caller
	known := map[string]*caller{}
	for _, a := range c.Allocations {
		by := words.PathOf(a.Stack)
		key := a.Meter + "\x00" + by.Key()
		one := known[key]
		if one == nil {
			one = &caller{
				Allocation: model.Allocation{Meter: a.Meter}, CallPath: by, of: cellCall(a.Stack),
				users: slices.ContainsFunc(a.Stack, func(f model.Frame) bool {
					return f.InCell() || !f.Native && !model.IsLibrary(f.File)
				}),
			}
			known[key] = one
			callers = append(callers, one)
		}
		one.Calls, one.most = min(one.Calls, by.Calls), max(one.most, by.Calls)
		one.Allocated += a.Allocated
		one.Freed += a.Freed
		one.AtPeak += a.AtPeak
		one.Count += a.Count
		one.Sampled = one.Sampled || a.Sampled
	}
	for _, a := range callers {
		a.who = escape.OneLine(a.Text(a.most), false, maxProse)
	}
	slices.SortStableFunc(callers, func(a, b *caller) int {
		return cmp.Or(cmp.Compare(b.AtPeak, a.AtPeak), cmp.Compare(b.Allocated, a.Allocated))
	})
	inner, pools := map[string]int64{}, map[string]bool{}
	for _, a := range callers {
		pools[a.Key()] = pools[a.Key()] || a.Meter == arrowMeter
		if words.LiesWithin(a.Meter) {
			inner[a.Key()] = max(inner[a.Key()], a.AtPeak, a.Allocated)
		}
	}
	for _, a := range callers {
		if a.ahead = words.IsOutermost(a.Meter) && pools[a.Key()] && isReservation(a.AtPeak); a.ahead {
			a.who += " (reserved ahead for Arrow's pool)"
		}
	}
	return slices.DeleteFunc(callers, func(a *caller) bool {
		return words.IsOutermost(a.Meter) && 2*inner[a.Key()] >= max(a.AtPeak, a.Allocated)
	})
}

// arrowMeter is the meter of memory from Arrow's pools.
const arrowMeter = "cpu.arrow"

// isReservation reports whether mapped memory is one or several of mimalloc's reservations, with little beside them: 1
// GiB (mimalloc 2 and 3, mi_option_arena_reserve).
func isReservation(bytes int64) bool {
	const reserve, beside = 1 << 30, 1 << 25
	return bytes >= reserve && bytes%reserve <= beside
}

// cellCall returns the outermost call of a cell's code.
func cellCall(stack []model.Frame) (of model.Frame) {
	for _, f := range stack {
		if f.Execution > 0 {
			of = f
		}
	}
	return of
}

// about marks an estimate from samples.
func (c *caller) about(what string) string { return words.Sampled(what, c.Sampled) }

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

// heaviest chooses the rows: the first callers of each meter, without tiny ones, and one meter after another. rest are
// the other callers.
func heaviest(callers []*caller) (shown, rest []*caller) {
	of := map[string][]*caller{}
	var meters []string
	for _, a := range callers { // the heaviest first
		known := of[a.Meter]
		if known == nil {
			meters = append(meters, a.Meter)
		}
		isTiny := known != nil && max(a.AtPeak, a.Allocated) < known[0].AtPeak/1000
		if isTiny || len(known) == maxAllocations {
			rest = append(rest, a)
			continue
		}
		of[a.Meter] = append(known, a)
	}
	for _, m := range meters {
		shown = append(shown, of[m]...)
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
		cover := c.Coverage[id]
		if cover.Rest > 0 {
			v.Note("%s: %s at the peak are not covered: made before the attach, or lost.", words.Meter(id),
				words.Bytes(cover.Rest))
		}
		if cover.Sampled > 0 {
			v.Prose("", doc.Dim(words.Meter(id)+": "+words.SampledLines(cover.Sampled)))
		} else if !cover.Exact {
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
	var open []string
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
				open = append(open, s.label)
				break
			}
		}
		label := doc.Bold(s.label)
		for i, a := range callers[:min(len(callers), fewCallers)] {
			if i > 0 && a.AtPeak < callers[0].AtPeak/16 {
				break
			}
			t.Row(label, words.Meter(a.Meter), a.about(words.Bytes(a.AtPeak)), a.about(words.Bytes(a.Allocated)),
				doc.Dim(a.about(words.Count(uint64(max(0, a.Count))))), a.who)
			label = doc.Span{}
		}
	}
	if t.Len() == 0 {
		return
	}
	v.Heading("Who allocated in them (at peak: of that, what was there at the cell's highest moment)")
	v.Table(t)
	if len(open) > 0 {
		v.Prose("", doc.Dim("Not all of it is known in "+strings.Join(open, ", ")+"; --full says how much."))
	}
}

// The most rows in the tables of lines and of tensors, for each meter.
const (
	maxLineRows   = 8
	maxTensorRows = 10
)

// lines shows the user's lines that allocated most in the whole session. What a line calls counts as the line's.
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
	for _, one := range v.r.Tensors {
		bytes += one.Bytes
		count += one.Count
	}
	v.Heading("PyTorch's blocks that were there at the end")
	v.Note("%s, %s in all; sizes are as the allocator rounded them up", words.Plural(int(count), "block"),
		words.Bytes(bytes))
	v.Blank()
	t := doc.NewTable(doc.Left("meter"), doc.Bytes("bytes"), doc.Right("blocks"), doc.Bytes("of"),
		doc.Right("rounding").Drop(1), doc.Flex("who"))
	for _, one := range v.r.Tensors[:min(len(v.r.Tensors), maxTensorRows)] {
		by := "(made before the attach, or its stack is not known)"
		if len(one.Stack) > 0 {
			by = Who(one.Stack)
		}
		t.Row(words.Meter(one.Meter), words.Bytes(one.Bytes), doc.Dim(fmt.Sprint(one.Count)), words.Bytes(one.Size),
			doc.Dim(words.Rounding(one)), by)
	}
	v.Table(t)
	if rest := v.r.Tensors[min(len(v.r.Tensors), maxTensorRows):]; len(rest) > 0 {
		v.Note("… and %s, none of more than %s.", words.Plural(len(rest), "more group"), words.Bytes(rest[0].Bytes))
	}
}
