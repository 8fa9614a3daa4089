package compare

import (
	"slices"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// Options are the options of a comparison.
type Options struct {
	// Meters are the meters to compare. If there are none, [Runs] chooses resident memory, and of each GPU the meters
	// of the driver and of PyTorch.
	Meters []string
	Least  int64 // least bytes of a change
	Limits []Limit
}

// UnknownMeterError is a meter that neither run has.
type UnknownMeterError struct {
	Meter string
	Known []string
}

func (e *UnknownMeterError) Error() string {
	return "no recording has the meter " + e.Meter
}

// Runs compares two runs. It fails with an [UnknownMeterError].
func Runs(a, b *Run, o Options) (*model.Diff, error) {
	d := &model.Diff{Schema: model.DiffSchema, A: a.report, B: b.report, Least: o.Least, Whole: []model.WholeDiff{},
		Causes: []model.Cause{}, Cells: []model.CellDiff{}}
	all := union(a.meters, b.meters)
	for _, id := range o.Meters {
		if !slices.Contains(all, id) {
			return nil, &UnknownMeterError{id, all}
		}
	}
	d.Meters = ordered(all, o.Meters)
	rows := pairs(a, b)
	c := &comparison{d: d, pairs: rows, judged: judged(all, o.Meters), causeOf: map[int]int{},
		a: sideOf(a, rows, d.Meters, func(p pair) int { return p.a }),
		b: sideOf(b, rows, d.Meters, func(p pair) int { return p.b })}
	for i := range c.pairs {
		d.Cells = append(d.Cells, c.row(i))
	}
	c.a.readings, c.b.readings = c.readings(c.a, c.b), c.readings(c.b, c.a)
	c.whole()
	c.causes()
	d.Doubts = c.doubts()
	if len(o.Limits) > 0 {
		d.Judged = c.judge(o.Limits)
	}
	return d, nil
}

func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, id := range b {
		if !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	return all
}

// ordered returns the meters in the order of their importance: first the meters in first, then those that reports show
// first, then the others.
func ordered(all, first []string) []string {
	var out []string
	for _, id := range slices.Concat(first, words.Headlines(all), all) {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// judged returns the meters by which a change is judged: the meters of memory that a machine can run out of.
func judged(all, asked []string) []string {
	if len(asked) > 0 {
		return asked
	}
	var out []string
	for _, id := range words.Headlines(all) {
		if !words.LiesWithin(id) && !words.IsOutermost(id) || words.OfGPU(id) {
			out = append(out, id)
		}
	}
	return out
}

// row compares a cell.
func (c *comparison) row(i int) model.CellDiff {
	out := model.CellDiff{Change: c.pairs[i].change}
	var figuresA, figuresB []*model.Figure
	if one := c.a.at(i); one != nil {
		out.A, figuresA = &one.DiffCell, one.figures
	}
	if one := c.b.at(i); one != nil {
		out.B, figuresB = &one.DiffCell, one.figures
	}
	out.Meters = c.meters(figuresA, figuresB)
	out.Lines = c.lines(i)
	if out.Change == model.Edited {
		out.Edits = editsOf(c.a.codeAt(i), c.b.codeAt(i))
	}
	return out
}

// meters compares two sets of figures, in the order of the comparison. Meters that neither run has are left out.
func (c *comparison) meters(a, b []*model.Figure) []model.MeterDiff {
	out := make([]model.MeterDiff, 0, len(c.d.Meters))
	for i, id := range c.d.Meters {
		one := model.MeterDiff{Meter: id, A: c.a.figure(a, i), B: c.b.figure(b, i)}
		if one.A == nil && one.B == nil {
			continue
		}
		x, y := figure(one.A), figure(one.B)
		one.Start, one.Need = y.Start-x.Start, y.Need()-x.Need()
		one.Peak, one.Consumed = y.Peak-x.Peak, y.Consumed-x.Consumed
		out = append(out, one)
	}
	return out
}

func figure(f *model.Figure) model.Figure {
	if f == nil {
		return model.Figure{}
	}
	return *f
}

// whole compares the sessions, and finds the cells in which the sessions were at their highest.
func (c *comparison) whole() {
	for i := range max(len(c.a.sessions), len(c.b.sessions)) {
		var one model.WholeDiff
		var a, b []*model.Figure
		if i < len(c.a.sessions) {
			one.Command, a = c.a.sessions[i].command, c.a.sessions[i].figures
		}
		if i < len(c.b.sessions) {
			one.Command, b = c.b.sessions[i].command, c.b.sessions[i].figures
		}
		one.Meters = c.meters(a, b)
		if i == 0 {
			one.PeakA = c.highest(func(m *model.MeterDiff) *model.Figure { return m.A })
			one.PeakB = c.highest(func(m *model.MeterDiff) *model.Figure { return m.B })
		}
		c.d.Whole = append(c.d.Whole, one)
	}
}

// highest returns the cell in which the first meter was at its highest in one of the runs.
func (c *comparison) highest(of func(*model.MeterDiff) *model.Figure) *int {
	best, at := int64(-1), -1
	for i := range c.d.Cells {
		for k := range c.d.Cells[i].Meters {
			m := &c.d.Cells[i].Meters[k]
			if f := of(m); m.Meter == c.d.Meters[0] && f != nil && f.Peak > best {
				best, at = f.Peak, i
			}
		}
	}
	if at < 0 {
		return nil
	}
	return &at
}
