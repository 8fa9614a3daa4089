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

// wholeWindow codes a window that no other window refers to, its id first.
func (c *coder) wholeWindow(w *Window) {
	codeOne(c, &w.ID)
	c.core(w)
	c.detail(w)
}

// core codes the fields of a window that its detail lacks.
func (c *coder) core(w *Window) {
	codeOne(c, &w.Kind)
	c.staying(&w.Parent)
	c.process(&w.Process)
	codeOne(c, &w.Root)
	codeOne(c, &w.FirstSegment)
	codeDelta(c, &w.LastSegment, w.FirstSegment)
	codeOne(c, &w.Opened)
	codeDelta(c, &w.Closed, w.Opened)
	codeOne(c, &w.Closing)
	code(c, &w.Count, &w.Line)
	c.flags(&w.Missed, &w.Doubted, &w.Truncated)
	c.text(&w.Name)
	c.text(&w.Status)
	c.notes(&w.Note)
	c.staying(&w.Before)
	c.staying(&w.After)
}

// notes codes a window's notes, the last note first: the kind of each, and its values. Kind 0 ends the list.
func (c *coder) notes(last **Note) {
	for ; ; last = &(*last).before {
		kind := words.NoteKind(0)
		if *last != nil {
			kind = (*last).Kind
		}
		if codeOne(c, &kind); kind == 0 {
			return
		}
		if c.reads {
			*last = NewNote(kind)
		}
		switch note := *last; kind {
		case words.EndedBy:
			c.text(&note.Name)
		case words.RanUnseen:
			code(c, &note.First, &note.Last)
			c.text(&note.Name)
		}
	}
}

// detail codes a window's detail. The tallies come last. A coder that reads skips them and records their place.
func (c *coder) detail(w *Window) {
	d := w.Detail
	codeOne(c, &d.OpenStream)
	codeDelta(c, &d.CloseStream, d.OpenStream)
	codeOne(c, &d.OpenCPU)
	codeDelta(c, &d.CloseCPU, d.OpenCPU)
	sameTree := slices.Equal(d.Own, d.Tree)
	frees := d.OpenFrees != event.Frees{} || d.CloseFrees != event.Frees{} ||
		d.unsure != [event.UnknownKinds]event.Bytes{}
	refused := len(d.Refused) > 0 || d.foreign != (model.Foreign{}) || d.Suspended != (model.Suspended{})
	tallied, doubted := len(d.Tallies) > 0, d.Doubts != nil
	alone := len(d.Children) == 0 && d.Measured.Unlisted == 0 && !d.Sharing
	marked := len(d.Paused) > 0 || len(d.PausedStacks) > 0
	counted := d.OpenCounters != nil && d.CloseCounters != nil
	contained, swapped := d.Container != nil, d.OpenSwapped != 0 || d.CloseSwapped != 0
	c.flags(&counted, &contained, &swapped, &sameTree, &frees, &refused, &tallied, &alone, &marked, &doubted,
		&d.IsSettled, &d.Uncounted, &d.Crowded)
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
	if contained {
		c.container(d)
	}
	if swapped {
		code(c, &d.OpenSwapped, &d.CloseSwapped)
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
		c.paused(d)
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

func (c *coder) figures(figures *course.Figures) {
	n := len(*figures)
	if codeOne(c, &n); c.reads {
		*figures = c.space.figures(n)
	}
	for i := range *figures {
		f := &(*figures)[i]
		codeOne(c, &f.Meter)
		codeOne(c, &f.Start)
		codeDelta(c, &f.Peak, f.Start)
		codeDelta(c, &f.End, f.Start)
	}
}

// recomputed codes the recomputed peaks as their differences from the peaks of the kernel's ledger: most are 0.
func (c *coder) recomputed(d *Detail) {
	var differences course.Levels
	if !c.reads {
		for _, f := range d.Own {
			if difference := d.Recomputed.Of(f.Meter) - f.Highest(); difference != 0 {
				differences = append(differences, course.Level{Bytes: difference, Meter: f.Meter})
			}
		}
		for _, l := range d.Recomputed {
			if d.Own.Of(l.Meter) == (course.Figure{Meter: l.Meter}) && l.Bytes != 0 {
				differences.Need(l.Meter).Bytes = l.Bytes
			}
		}
	}
	c.levels(&differences)
	if c.reads {
		for _, f := range d.Own {
			d.Recomputed = append(d.Recomputed, course.Level{Bytes: f.Highest(), Meter: f.Meter})
		}
		for _, l := range differences {
			d.Recomputed.Need(l.Meter).Bytes += l.Bytes
		}
	}
}

func (c *coder) levels(levels *course.Levels) {
	codeLength(c, (*[]course.Level)(levels))
	for i := range *levels {
		code(c, &(*levels)[i].Meter)
		code(c, &(*levels)[i].Bytes)
	}
}

func (c *coder) children(d *Detail) {
	c.flags(&d.Sharing)
	c.levels(&d.Shared)
	codeOne(c, &d.Measured.Unlisted)
	codeLength(c, &d.Children)
	for i := range d.Children {
		c.process(&d.Children[i].Process)
		c.figures(&d.Children[i].Figures)
	}
}

func (c *coder) paused(d *Detail) {
	codeLength(c, &d.Paused)
	for i := range d.Paused {
		codeOne(c, &d.Paused[i])
	}
	codeLength(c, &d.PausedStacks)
	for i := range d.PausedStacks {
		codeOne(c, &d.PausedStacks[i])
	}
}

func (c *coder) doubts(d *Detail) {
	if c.reads {
		d.Doubts = &doubts{}
	}
	doubts := d.Doubts
	for i := range doubts.missing {
		codeOne(c, &doubts.missing[i])
	}
	code(c, &doubts.statements, &doubts.markers)
	c.flags(&doubts.Loose, &doubts.partly)
	for i := range doubts.unprobed {
		code(c, &doubts.unprobed[i], &doubts.unprobedTree[i])
	}
}

func (c *coder) requests(d *Detail) {
	code(c, &d.foreign.Opened, &d.foreign.Closed, &d.foreign.Open)
	code(c, &d.Suspended.Out, &d.Suspended.Back)
	codeOne(c, &d.Suspended.Bytes)
	c.flags(&d.Suspended.Away)
	codeLength(c, &d.Refused)
	codeLength(c, &d.RefusedBy)
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
func (c *coder) refusedBy(refusal **Refusal) {
	if c.reads {
		*refusal = &Refusal{Refusal: &event.Refusal{}}
	}
	refused := *refusal
	codeOne(c, &refused.Stack)
	codeLength(c, &refused.Dividers)
	for i := range refused.Dividers {
		d := &refused.Dividers[i]
		code(c, &d.Size, &d.Before, &d.After)
		codeOne(c, &d.Stack)
	}
}

func (c *coder) tallies(d *Detail) {
	var meters []event.Meter
	if !c.reads {
		meters = slices.Sorted(maps.Keys(d.Tallies))
	}
	codeLength(c, &meters)
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

func (c *coder) tally(tallies *stacks.Tallies) {
	c.flags(&tallies.Wrong)
	sum := tallies.Done
	code(c, &tallies.Highest, &tallies.First, &sum.Known, &sum.Net, &sum.Heaviest, &sum.Sampled, &sum.SampledError)
	codeOne(c, &sum.Stacks)
	if sum.Stacks > 0 {
		code(c, &sum.Rest.Allocated, &sum.Rest.Freed, &sum.Rest.AtPeak)
	}
	codeLength(c, &sum.Tallies)
	for i := range sum.Tallies {
		c.sum(&sum.Tallies[i])
	}
}

// stack codes a stack's number as the stack's place in the table, from 1. A stack that is no longer there becomes 0.
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

func (c *coder) sum(sum *stacks.Sum) {
	c.flags(&sum.Sampled)
	c.stack(&sum.Stack)
	code(c, &sum.Allocated, &sum.Freed, &sum.AtPeak)
	codeOne(c, &sum.Count)
}

// counters codes the counters. It is called only where something was counted.
func (c *coder) counters(d *Detail) {
	if c.reads {
		d.OpenCounters, d.CloseCounters = &event.Counters{}, &event.Counters{}
	}
	for i := range d.OpenCounters {
		codeOne(c, &d.OpenCounters[i])
		codeDelta(c, &d.CloseCounters[i], d.OpenCounters[i])
	}
}
