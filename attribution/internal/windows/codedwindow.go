package windows

import (
	"maps"
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// all codes a window that no other refers to, its id first.
func (c *coder) all(w *Window) {
	codeOne(c, &w.ID)
	c.core(w)
	c.detail(w)
}

// core codes the part of a window that others may refer to. It is called for windows that no other refers to.
func (c *coder) core(w *Window) {
	codeOne(c, &w.Kind)
	c.staying(&w.Parent)
	c.process(&w.Process)
	codeOne(c, &w.Root)
	codeOne(c, &w.FirstSegment)
	beside(c, &w.LastSegment, w.FirstSegment)
	codeOne(c, &w.Opened)
	beside(c, &w.Closed, w.Opened)
	codeOne(c, &w.Closing)
	code(c, &w.Count, &w.Line)
	c.flags(&w.Missed, &w.Doubted, &w.Truncated)
	c.text(&w.Name)
	c.text(&w.Status)
	c.notes(&w.Note)
	c.staying(&w.Before)
	c.staying(&w.After)
}

// notes codes the kinds of a window's notes, the last one first, each with its values. Zero follows the last kind.
func (c *coder) notes(at **Note) {
	for ; ; at = &(*at).before {
		kind := words.NoteKind(0)
		if *at != nil {
			kind = (*at).Kind
		}
		if codeOne(c, &kind); kind == 0 {
			return
		}
		if c.reads {
			*at = NewNote(kind)
		}
		switch one := *at; kind {
		case words.EndedBy:
			c.text(&one.Name)
		case words.RanUnseen:
			code(c, &one.First, &one.Last)
			c.text(&one.Name)
		}
	}
}

// detail codes a window's detail. The tallies come last: it does not read them, but records their place.
func (c *coder) detail(w *Window) {
	d := w.Detail
	codeOne(c, &d.OpenStream)
	beside(c, &d.CloseStream, d.OpenStream)
	codeOne(c, &d.OpenCPU)
	beside(c, &d.CloseCPU, d.OpenCPU)
	sameTree := slices.Equal(d.Own, d.Tree)
	frees := d.OpenFrees != event.Frees{} || d.CloseFrees != event.Frees{} ||
		d.unsure != [event.UnknownKinds]event.Bytes{}
	refused, tallied, alone := len(d.Refused) > 0 || d.foreign != (model.Foreign{}) ||
		d.Suspended != (model.Suspended{}), len(d.Tallies) > 0, len(d.Children) == 0 && d.Measured.Unlisted == 0 &&
		!d.Sharing
	marked, doubted := len(d.Paused) > 0 || len(d.PausedStacks) > 0, d.Doubts != nil
	counted := d.OpenCounters != nil && d.CloseCounters != nil
	c.flags(&counted, &sameTree, &frees, &refused, &tallied, &alone, &marked, &doubted, &d.IsSettled, &d.Uncounted,
		&d.Crowded)
	codeOne(c, &d.Until)
	if frees {
		for kind := range event.UnknownKinds {
			code(c, &d.OpenFrees.Unknown[kind], &d.CloseFrees.Unknown[kind])
			code(c, &d.OpenFrees.Slack[kind], &d.CloseFrees.Slack[kind], &d.unsure[kind])
		}
	}
	if counted {
		c.counters(d)
	}
	c.figures(&d.Own)
	if sameTree {
		d.Tree = d.Own
	} else {
		c.figures(&d.Tree)
	}
	c.recomputed(d)
	if !alone {
		c.children(d)
	}
	if marked {
		c.marks(d)
	}
	if doubted {
		c.doubts(d)
	}
	if refused {
		c.requests(d)
	}
	switch {
	case tallied && c.reads:
		d.talliesAt = c.end - uint64(len(c.bytes))
	case tallied:
		c.tallies(d)
	}
}

func (c *coder) figures(all *course.Figures) {
	n := len(*all)
	if codeOne(c, &n); c.reads {
		*all = c.space.figures(n)
	}
	for i := range *all {
		f := &(*all)[i]
		codeOne(c, &f.Meter)
		codeOne(c, &f.Start)
		beside(c, &f.Peak, f.Start)
		beside(c, &f.End, f.Start)
	}
}

// recomputed codes the differences from the peaks in the kernel's ledger.
func (c *coder) recomputed(d *Detail) {
	var differ course.Levels
	if !c.reads {
		for _, f := range d.Own {
			if away := d.Recomputed.Of(f.Meter) - f.Highest(); away != 0 {
				differ = append(differ, course.Level{Bytes: away, Meter: f.Meter})
			}
		}
		for _, l := range d.Recomputed {
			if d.Own.Of(l.Meter) == (course.Figure{Meter: l.Meter}) && l.Bytes != 0 {
				differ.Need(l.Meter).Bytes = l.Bytes
			}
		}
	}
	c.levels(&differ)
	if c.reads {
		for _, f := range d.Own {
			d.Recomputed = append(d.Recomputed, course.Level{Bytes: f.Highest(), Meter: f.Meter})
		}
		for _, l := range differ {
			d.Recomputed.Need(l.Meter).Bytes += l.Bytes
		}
	}
}

func (c *coder) levels(all *course.Levels) {
	length(c, (*[]course.Level)(all))
	for i := range *all {
		code(c, &(*all)[i].Meter)
		code(c, &(*all)[i].Bytes)
	}
}

func (c *coder) children(d *Detail) {
	c.flags(&d.Sharing)
	c.levels(&d.Shared)
	codeOne(c, &d.Measured.Unlisted)
	length(c, &d.Children)
	for i := range d.Children {
		c.process(&d.Children[i].Process)
		c.figures(&d.Children[i].Figures)
	}
}

func (c *coder) marks(d *Detail) {
	length(c, &d.Paused)
	for i := range d.Paused {
		codeOne(c, &d.Paused[i])
	}
	length(c, &d.PausedStacks)
	for i := range d.PausedStacks {
		codeOne(c, &d.PausedStacks[i])
	}
}

func (c *coder) doubts(d *Detail) {
	if c.reads {
		d.Doubts = &doubts{}
	}
	all := d.Doubts
	for i := range all.missing {
		codeOne(c, &all.missing[i])
	}
	code(c, &all.statements, &all.markers)
	c.flags(&all.Loose, &all.partly)
	for i := range all.unprobed {
		code(c, &all.unprobed[i], &all.unprobedTree[i])
	}
}

func (c *coder) requests(d *Detail) {
	code(c, &d.foreign.Opened, &d.foreign.Closed, &d.foreign.Open)
	code(c, &d.Suspended.Out, &d.Suspended.Back)
	codeOne(c, &d.Suspended.Bytes)
	c.flags(&d.Suspended.Away)
	length(c, &d.Refused)
	length(c, &d.RefusedBy)
	for i := range d.Refused {
		r := &d.Refused[i]
		c.text(&r.Meter)
		code(c, &r.Asked, &r.Held, &r.Reserved, &r.Limit)
		codeOne(c, &r.Count)
		c.text(&r.Caller)
		c.refusedBy(&d.RefusedBy[i])
	}
}

// refusedBy codes what a report needs of a refused request.
func (c *coder) refusedBy(at **Refusal) {
	if c.reads {
		*at = &Refusal{Refusal: &event.Refusal{}}
	}
	by := *at
	codeOne(c, &by.Stack)
	length(c, &by.Dividers)
	for i := range by.Dividers {
		d := &by.Dividers[i]
		code(c, &d.Size, &d.Before, &d.After)
		codeOne(c, &d.Stack)
	}
}

func (c *coder) tallies(d *Detail) {
	var meters []event.Meter
	if !c.reads {
		meters = slices.Sorted(maps.Keys(d.Tallies))
	}
	length(c, &meters)
	for i := range meters {
		codeOne(c, &meters[i])
		if c.reads {
			if d.Tallies == nil {
				d.Tallies = c.space.tallied(len(meters))
			}
			d.Tallies[meters[i]] = c.space.talliesOf(i)
		}
		c.tally(d.Tallies[meters[i]])
	}
}

func (c *coder) tally(all *stacks.Tallies) {
	c.flags(&all.Wrong)
	s := all.Done
	code(c, &all.Highest, &all.First, &s.Known, &s.Net, &s.Heaviest, &s.Sampled)
	codeOne(c, &s.Stacks)
	if s.Stacks > 0 {
		code(c, &s.Rest.Allocated, &s.Rest.Freed, &s.Rest.AtPeak)
	}
	length(c, &s.Tallies)
	for i := range s.Tallies {
		c.done(&s.Tallies[i])
	}
}

// stack codes a stack's number as its place in the table. A number that is no longer in the table becomes 0.
func (c *coder) stack(number *uint64) {
	table, at := c.stacks, uint32(0)
	if !c.reads {
		if i, known := table.PlaceOf(*number); known {
			at = i + 1
		}
	}
	if codeOne(c, &at); c.reads && at > 0 {
		*number = table.Stacks[at-1].Number
	}
}

func (c *coder) done(y *stacks.Sum) {
	c.flags(&y.Sampled)
	c.stack(&y.Stack)
	code(c, &y.Allocated, &y.Freed, &y.AtPeak)
	codeOne(c, &y.Count)
}

// counters codes the counters. It is called only where something was counted.
func (c *coder) counters(d *Detail) {
	if c.reads {
		d.OpenCounters, d.CloseCounters = &event.Counters{}, &event.Counters{}
	}
	for i := range d.OpenCounters {
		codeOne(c, &d.OpenCounters[i])
		beside(c, &d.CloseCounters[i], d.OpenCounters[i])
	}
}
