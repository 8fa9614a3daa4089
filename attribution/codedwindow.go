package attribution

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
func (c *coder) all(w *window) {
	codeOne(c, &w.id)
	c.core(w)
	c.detail(w)
}

// core codes the part of a window that others may refer to. It is called for windows that no other refers to.
func (c *coder) core(w *window) {
	codeOne(c, &w.kind)
	c.staying(&w.parent)
	c.process(&w.process)
	codeOne(c, &w.root)
	codeOne(c, &w.firstSegment)
	beside(c, &w.lastSegment, w.firstSegment)
	codeOne(c, &w.opened)
	beside(c, &w.closed, w.opened)
	codeOne(c, &w.closing)
	code(c, &w.count, &w.line)
	c.flags(&w.missed, &w.doubted, &w.truncated)
	c.text(&w.name)
	c.text(&w.status)
	c.notes(&w.note)
	c.staying(&w.before)
	c.staying(&w.after)
}

// notes codes the kinds of a window's notes, the last one first, each with its values. Zero follows the last kind.
func (c *coder) notes(at **note) {
	for ; ; at = &(*at).before {
		kind := words.NoteKind(0)
		if *at != nil {
			kind = (*at).Kind
		}
		if codeOne(c, &kind); kind == 0 {
			return
		}
		if c.reads {
			*at = alone(kind)
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
func (c *coder) detail(w *window) {
	d := w.detail
	codeOne(c, &d.openStream)
	beside(c, &d.closeStream, d.openStream)
	codeOne(c, &d.openCPU)
	beside(c, &d.closeCPU, d.openCPU)
	sameTree := slices.Equal(d.own, d.tree)
	frees := d.openFrees != event.Frees{} || d.closeFrees != event.Frees{} ||
		d.unsure != [event.UnknownKinds]event.Bytes{}
	refused, tallied, alone := len(d.refused) > 0 || d.foreign != (model.Foreign{}) ||
		d.suspended != (model.Suspended{}), len(d.tallies) > 0, len(d.children) == 0 && d.measured.unlisted == 0 &&
		!d.sharing
	marked, doubted := len(d.shed) > 0 || len(d.unwalked) > 0, d.doubts != nil
	counted := d.openCounters != nil && d.closeCounters != nil
	c.flags(&counted, &sameTree, &frees, &refused, &tallied, &alone, &marked, &doubted, &d.isSettled, &d.uncounted,
		&d.crowded)
	codeOne(c, &d.until)
	if frees {
		for kind := range event.UnknownKinds {
			code(c, &d.openFrees.Unknown[kind], &d.closeFrees.Unknown[kind])
			code(c, &d.openFrees.Slack[kind], &d.closeFrees.Slack[kind], &d.unsure[kind])
		}
	}
	if counted {
		c.counters(d)
	}
	c.figures(&d.own)
	if sameTree {
		d.tree = d.own
	} else {
		c.figures(&d.tree)
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
func (c *coder) recomputed(d *detail) {
	var differ course.Levels
	if !c.reads {
		for _, f := range d.own {
			if away := d.recomputed.Of(f.Meter) - f.Highest(); away != 0 {
				differ = append(differ, course.Level{Bytes: away, Meter: f.Meter})
			}
		}
		for _, l := range d.recomputed {
			if d.own.Of(l.Meter) == (course.Figure{Meter: l.Meter}) && l.Bytes != 0 {
				differ.Need(l.Meter).Bytes = l.Bytes
			}
		}
	}
	c.levels(&differ)
	if c.reads {
		for _, f := range d.own {
			d.recomputed = append(d.recomputed, course.Level{Bytes: f.Highest(), Meter: f.Meter})
		}
		for _, l := range differ {
			d.recomputed.Need(l.Meter).Bytes += l.Bytes
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

func (c *coder) children(d *detail) {
	c.flags(&d.sharing)
	c.levels(&d.shared)
	codeOne(c, &d.measured.unlisted)
	length(c, &d.children)
	for i := range d.children {
		c.process(&d.children[i].process)
		c.figures(&d.children[i].figures)
	}
}

func (c *coder) marks(d *detail) {
	length(c, &d.shed)
	for i := range d.shed {
		codeOne(c, &d.shed[i])
	}
	length(c, &d.unwalked)
	for i := range d.unwalked {
		codeOne(c, &d.unwalked[i])
	}
}

func (c *coder) doubts(d *detail) {
	if c.reads {
		d.doubts = &doubts{}
	}
	all := d.doubts
	for i := range all.missing {
		codeOne(c, &all.missing[i])
	}
	code(c, &all.statements, &all.markers)
	c.flags(&all.loose, &all.partly)
	for i := range all.blind {
		code(c, &all.blind[i], &all.blindTree[i])
	}
}

func (c *coder) requests(d *detail) {
	code(c, &d.foreign.Opened, &d.foreign.Closed, &d.foreign.Open)
	code(c, &d.suspended.Out, &d.suspended.Back)
	codeOne(c, &d.suspended.Bytes)
	c.flags(&d.suspended.Away)
	length(c, &d.refused)
	length(c, &d.refusedBy)
	for i := range d.refused {
		r := &d.refused[i]
		c.text(&r.Meter)
		code(c, &r.Asked, &r.Held, &r.Reserved, &r.Limit)
		codeOne(c, &r.Count)
		c.text(&r.Caller)
		c.refusedBy(&d.refusedBy[i])
	}
}

// refusedBy codes what a report needs of a refused request.
func (c *coder) refusedBy(at **refusal) {
	if c.reads {
		*at = &refusal{Refusal: &event.Refusal{}}
	}
	by := *at
	codeOne(c, &by.Stack)
	length(c, &by.dividers)
	for i := range by.dividers {
		d := &by.dividers[i]
		code(c, &d.size, &d.before, &d.after)
		codeOne(c, &d.stack)
	}
}

func (c *coder) tallies(d *detail) {
	var meters []event.Meter
	if !c.reads {
		meters = slices.Sorted(maps.Keys(d.tallies))
	}
	length(c, &meters)
	for i := range meters {
		codeOne(c, &meters[i])
		if c.reads {
			if d.tallies == nil {
				d.tallies = c.space.tallied(len(meters))
			}
			d.tallies[meters[i]] = c.space.talliesOf(i)
		}
		c.tally(d.tallies[meters[i]])
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
func (c *coder) counters(d *detail) {
	if c.reads {
		d.openCounters, d.closeCounters = &event.Counters{}, &event.Counters{}
	}
	for i := range d.openCounters {
		codeOne(c, &d.openCounters[i])
		beside(c, &d.closeCounters[i], d.openCounters[i])
	}
}
