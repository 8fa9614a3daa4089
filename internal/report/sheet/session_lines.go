package sheet

import (
	"fmt"
	"strconv"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// lineRow is a row about a line of code.
type lineRow struct {
	*model.Line
	atPeak, allocated int64
}

// allLines returns the lines that allocated themselves, of libraries too.
func allLines(all []model.Line) (rows []lineRow) {
	for i := range all {
		if l := &all[i]; !l.Native && l.OwnAtPeak > 0 {
			rows = append(rows, lineRow{l, l.OwnAtPeak, l.OwnAllocated})
		}
	}
	return rows
}

// typedLines returns the user's lines, with all calls below them. Mapped memory that arrays of the same line fill is
// theirs.
func typedLines(all []model.Line) (rows []lineRow) {
	type where struct {
		pid, execution, line int
		file                 string
	}
	inner := map[where]int64{}
	of := func(l *model.Line) where { return where{l.PID, l.Execution, l.Line, l.File} }
	for i := range all {
		if l := &all[i]; words.LiesWithin(l.Meter) {
			inner[of(l)] = max(inner[of(l)], l.AtPeak)
		}
	}
	for i := range all {
		l := &all[i]
		if l.Native || l.AtPeak <= 0 || l.Execution == 0 && model.IsLibrary(l.File) ||
			words.IsOutermost(l.Meter) && 2*inner[of(l)] >= l.AtPeak {
			continue
		}
		rows = append(rows, lineRow{l, l.AtPeak, l.Allocated})
	}
	return rows
}

func (p *session) lines(rows []lineRow) {
	if len(rows) == 0 {
		return
	}
	p.WriteString("| line | meter | at the session's peak | allocated | times |\n|---|---|--:|--:|--:|\n")
	for _, l := range rows[:min(len(rows), maxLineRows)] {
		fmt.Fprintf(p, "| %s | %s | %s | %s | %s |\n", doc.Code(frameText(l.Frame)), meterCode(l.Meter),
			words.Sampled(words.Bytes(l.atPeak), l.Sampled),
			words.Sampled(words.Bytes(l.allocated), l.Sampled),
			words.Sampled(strconv.FormatInt(l.Count, 10), l.Sampled))
	}
	if more := len(rows) - maxLineRows; more > 0 {
		fmt.Fprintf(p, "\n… and %d more lines that held less.\n", more)
	}
	p.WriteString("\n")
}
