package compare

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/model"
)

// maxRowLines is the most lines that a row lists.
const maxRowLines = 12

// lines returns the lines with memory at the peaks of a cell in both runs, where that differs.
func (c *comparison) lines(p pair) []model.LineDiff {
	before, after := c.located(c.a, p.a, c.rowA), c.located(c.b, p.b, c.rowB)
	out := []model.LineDiff{}
	// Lines of the same text first, then of the same number, then the rest of the same function, in order.
	for _, same := range []func(x, y *model.LineDiff) bool{
		func(x, y *model.LineDiff) bool { return x.Source == y.Source && (x.Source != "" || x.Line == y.Line) },
		func(x, y *model.LineDiff) bool { return x.Line == y.Line },
		func(x, y *model.LineDiff) bool { return true },
	} {
		for i := range after {
			y := &after[i]
			if y.Meter == "" {
				continue
			}
			for k := range before {
				x := &before[k]
				if x.Meter == y.Meter && x.Cell == y.Cell && x.File == y.File && x.Function == y.Function &&
					same(x, y) {
					y.A = x.A
					out = append(out, *y)
					x.Meter, y.Meter = "", ""
					break
				}
			}
		}
	}
	for _, rest := range [][]model.LineDiff{before, after} {
		for _, l := range rest {
			if l.Meter != "" {
				out = append(out, l)
			}
		}
	}
	for i := range out {
		out[i].Change = out[i].B - out[i].A
	}
	out = slices.DeleteFunc(out, func(l model.LineDiff) bool { return l.Change == 0 })
	slices.SortStableFunc(out, func(x, y model.LineDiff) int { return cmp.Compare(abs(y.Change), abs(x.Change)) })
	return slices.Clip(out[:min(len(out), maxRowLines)])
}

// located returns a cell's lines with their rows in the comparison. Their bytes are in A or B, by the run.
func (c *comparison) located(of *Run, index int, rows map[cellRun]int) []model.LineDiff {
	if index < 0 {
		return nil
	}
	one := &of.cells[index]
	out := make([]model.LineDiff, 0, len(one.lines))
	for _, l := range one.lines {
		d := model.LineDiff{Meter: of.meters[l.meter], Function: l.function, File: where(l.file), Line: l.number,
			Cell: -1}
		if l.execution > 0 {
			if row, ok := rows[cellRun{one.PID, l.execution}]; ok {
				d.Cell = row
				d.Source = c.text(of, row, l.number)
			}
		}
		if of == c.a {
			d.A = l.bytes
		} else {
			d.B = l.bytes
		}
		out = append(out, d)
	}
	return out
}

// text returns a line of a cell's source.
func (c *comparison) text(of *Run, row, number int) string {
	index := c.pairs[row].b
	if of == c.a {
		index = c.pairs[row].a
	}
	source := of.cells[index].Source
	for l := range strings.Lines(source) {
		if number--; number == 0 {
			return strings.TrimSpace(l)
		}
	}
	return ""
}

// where returns a file without the folder that it is installed in, which may differ.
func where(file string) string {
	for _, installed := range []string{"/site-packages/", "/dist-packages/"} {
		if i := strings.LastIndex(file, installed); i >= 0 {
			return file[i+len(installed):]
		}
	}
	if i := strings.LastIndex(file, "/lib/python3"); i >= 0 {
		if _, rest, ok := strings.Cut(file[i+len("/lib/python3"):], "/"); ok {
			return rest
		}
	}
	return file
}
