package compare

import (
	"slices"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// Options say what is compared.
type Options struct {
	// Meters are the meters to compare. If there are none, [Runs] chooses resident memory, and for each GPU the meters
	// of the driver and of PyTorch.
	Meters []string
	Least  int64 // the smallest change that is reported, in bytes
	Limits []Limit
}

// UnknownMeterError names a requested meter that neither run has.
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

// ordered returns all meters in the order of their importance: those in first, then those that reports show first, then
// the others.
func ordered(all, first []string) []string {
	var out []string
	for _, id := range slices.Concat(first, words.Headlines(all), all) {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// judged returns the meters by which a change is judged: the requested ones, or else the meters of memory that a
// machine can run out of.
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

// row returns the comparison of the cells in a row.
func (c *comparison) row(i int) model.CellDiff {
	out := model.CellDiff{Change: c.pairs[i].change}
	var figuresA, figuresB []*model.Figure
	if cell := c.a.cellIn(i); cell != nil {
		out.A, figuresA = &cell.DiffCell, cell.figures
	}
	if cell := c.b.cellIn(i); cell != nil {
		out.B, figuresB = &cell.DiffCell, cell.figures
	}
	out.Meters = c.meters(figuresA, figuresB)
	out.Lines = c.lines(i)
	if out.Change == model.Edited {
		out.Edits = editsOf(c.a.codeIn(i), c.b.codeIn(i))
	}
	return out
}

// meters compares two sets of figures, in the order of the comparison's meters. It leaves out meters that neither has.
func (c *comparison) meters(a, b []*model.Figure) []model.MeterDiff {
	out := make([]model.MeterDiff, 0, len(c.d.Meters))
	for i, id := range c.d.Meters {
		d := model.MeterDiff{Meter: id, A: c.a.figure(a, i), B: c.b.figure(b, i)}
		if d.A == nil && d.B == nil {
			continue
		}
		x, y := figure(d.A), figure(d.B)
		d.Start, d.Need = y.Start-x.Start, y.Need()-x.Need()
		d.Peak, d.Consumed = y.Peak-x.Peak, y.Consumed-x.Consumed
		out = append(out, d)
	}
	return out
}

func figure(f *model.Figure) model.Figure {
	if f == nil {
		return model.Figure{}
	}
	return *f
}

// whole compares the sessions as wholes. For the first session it also finds the cell with the peak.
func (c *comparison) whole() {
	for i := range max(len(c.a.sessions), len(c.b.sessions)) {
		var d model.WholeDiff
		var a, b []*model.Figure
		if i < len(c.a.sessions) {
			d.Command, a = c.a.sessions[i].command, c.a.sessions[i].figures
		}
		if i < len(c.b.sessions) {
			d.Command, b = c.b.sessions[i].command, c.b.sessions[i].figures
		}
		d.Meters = c.meters(a, b)
		if i == 0 {
			d.PeakA = c.highest(func(m *model.MeterDiff) *model.Figure { return m.A })
			d.PeakB = c.highest(func(m *model.MeterDiff) *model.Figure { return m.B })
		}
		c.d.Whole = append(c.d.Whole, d)
	}
}

// highest returns the row of the cell with the highest peak of the first meter, in the run whose figures figureOf
// returns; nil if there is none.
func (c *comparison) highest(figureOf func(*model.MeterDiff) *model.Figure) *int {
	best, at := int64(-1), -1
	for i := range c.d.Cells {
		for k := range c.d.Cells[i].Meters {
			m := &c.d.Cells[i].Meters[k]
			if f := figureOf(m); m.Meter == c.d.Meters[0] && f != nil && f.Peak > best {
				best, at = f.Peak, i
			}
		}
	}
	if at < 0 {
		return nil
	}
	return &at
}
