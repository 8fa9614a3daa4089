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
func (c *comparison) lines(row int) []model.LineDiff {
	before, after := c.a.located(row), c.b.located(row)
	for i := range before {
		before[i].A, before[i].B = before[i].B, 0
	}
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

// located returns a cell's lines with their rows in the comparison. Their bytes are in B.
func (s *side) located(row int) (out []model.LineDiff) {
	one := s.at(row)
	if one == nil {
		return nil
	}
	for _, l := range one.lines {
		d := model.LineDiff{Meter: s.meters[l.meter], Function: l.function, File: where(l.file), Line: l.number,
			Cell: -1, B: l.bytes}
		if of, ok := s.rows[cellRun{one.PID, l.execution}]; ok && l.execution > 0 {
			d.Cell, d.Source = of, textOf(s.at(of).Source, l.number)
		}
		out = append(out, d)
	}
	return out
}

// textOf returns a line of a source.
func textOf(source string, number int) string {
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
