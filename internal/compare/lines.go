package compare

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/model"
)

// maxRowLines bounds the lines that a row lists.
const maxRowLines = 12

// lines returns the lines whose memory at the cell's peak differs between the runs, the largest difference first.
func (c *comparison) lines(row int) []model.LineDiff {
	before, after := c.a.located(row), c.b.located(row)
	for i := range before { // located sets B
		before[i].A, before[i].B = before[i].B, 0
	}
	out := []model.LineDiff{}
	// Match lines of the same text first, then lines of the same number, then the rest of each function, in order.
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
					x.Meter, y.Meter = "", "" // "" marks matched lines
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

// located returns the lines of a run's cell, with the rows of their own cells. Their bytes are in B.
func (s *side) located(row int) (out []model.LineDiff) {
	cell := s.cellIn(row)
	if cell == nil {
		return nil
	}
	for _, l := range cell.lines {
		d := model.LineDiff{Meter: s.meters[l.meter], Function: l.function, File: withoutFolder(l.file), Line: l.number,
			Cell: -1, B: l.bytes}
		if lineRow, ok := s.rows[cellRun{cell.PID, l.execution}]; ok && l.execution > 0 {
			d.Cell, d.Source = lineRow, textOf(s.cellIn(lineRow).Source, l.number)
		}
		out = append(out, d)
	}
	return out
}

// textOf returns a line of a source without the space around it.
func textOf(source string, number int) string {
	for l := range strings.Lines(source) {
		if number--; number == 0 {
			return strings.TrimSpace(l)
		}
	}
	return ""
}

// withoutFolder returns a file's path below the folder in which Python's packages are installed: the folder may differ
// between the runs.
func withoutFolder(file string) string {
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
