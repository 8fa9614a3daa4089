package sheet

import (
	"cmp"
	"fmt"
	"slices"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// How many rows tables have.
const (
	maxCells       = 15
	maxExperiments = 10
	maxLineRows    = 10
	maxMeters      = 6
	maxExcerpt     = 60
)

// sessionRows are the windows and meters of a session that its Markdown shows.
type sessionRows struct {
	meters          []string                // meters with a column for needs, the ranking one first
	cells           []windowRow             // the maxCells heaviest ones
	experiments     []windowRow             // the first maxExperiments
	moreCells       int                     // cells without a row
	moreExperiments int                     // experiments without a row
	peaks           map[string]model.Figure // by meter, the highest of all processes' sessions
	order           int                     // cells and experiments so far
	count           int                     // cells
	failed          int                     // cells that failed
}

// windowRow is the part of a window that its row needs.
type windowRow struct {
	order   int    // its place in the session
	name    string // in Markdown
	status  string // in Markdown; "" for a window that ended well
	figures map[string]model.Figure
	source  string
	counted string // counters, in words
}

// rowsOf goes through the windows of a session. It ranks cells by the meter ranking.
func rowsOf(report *model.Report, ranking string) *sessionRows {
	rows := &sessionRows{meters: headlinesOf(report, ranking), peaks: map[string]model.Figure{}}
	for window := range report.AllPassing() {
		rows.add(window)
	}
	return rows
}

// headlinesOf returns the meters with a column: those that users read, the ranking one first.
func headlinesOf(report *model.Report, ranking string) []string {
	known := report.AllMeters()
	meters := words.Headlines(known)
	if len(meters) == 0 {
		meters = known
	}
	if slices.Contains(known, ranking) {
		meters = words.First(meters, ranking)
	}
	return meters[:min(len(meters), maxMeters)]
}

// need returns the need of a window, of the ranking meter.
func (s *sessionRows) need(row *windowRow) int64 {
	if len(s.meters) == 0 {
		return 0
	}
	return row.figures[s.meters[0]].Need()
}

// add adds a window: a row for a cell or an experiment, the peaks of a session. It ignores statements.
func (s *sessionRows) add(window *model.Window) {
	switch window.Kind {
	case model.Session:
		for id, f := range window.Figures() {
			if f.Peak >= s.peaks[id].Peak {
				s.peaks[id] = f
			}
		}
		return
	case model.Statement:
		return
	}
	s.order++
	row := windowRow{order: s.order, name: words.CellOf(window), figures: map[string]model.Figure{}}
	for _, id := range s.meters {
		if f, ok := window.Together(id); ok {
			row.figures[id] = f
		}
	}
	if window.Counters != nil {
		row.counted = words.Counters(window.Counters)
	}
	if window.Kind == model.Experiment {
		row.name = doc.Code(window.Name)
	}
	if window.Status != model.OK {
		row.status = " (" + doc.Code(window.Status) + ")"
	}
	switch {
	case window.Kind != model.Experiment:
		s.addCell(window, row)
	case len(s.experiments) < maxExperiments:
		s.experiments = append(s.experiments, row)
	default:
		s.moreExperiments++
	}
}

// addCell adds a cell, and keeps the heaviest ones.
func (s *sessionRows) addCell(window *model.Window, row windowRow) {
	if s.count++; window.Status == model.Error {
		s.failed++
	}
	const mostSource = 16 * maxExcerpt // bytes: spaces are folded, and a character has up to 4 bytes
	row.source = window.Source[:min(len(window.Source), mostSource)]
	s.cells = append(s.cells, row)
	slices.SortStableFunc(s.cells, func(a, b windowRow) int {
		return cmp.Or(cmp.Compare(s.need(&b), s.need(&a)), cmp.Compare(a.order, b.order))
	})
	if len(s.cells) > maxCells {
		s.cells = s.cells[:maxCells]
		s.moreCells++
	}
}

// lineRow is a row about a line of code.
type lineRow struct {
	*model.Line
	atPeak, allocated int64
}

// allLines returns a row for each Python line that allocated itself, in the user's code or in a library.
func allLines(lines []model.Line) (rows []lineRow) {
	for i := range lines {
		if l := &lines[i]; !l.Native && l.OwnAtPeak > 0 {
			rows = append(rows, lineRow{l, l.OwnAtPeak, l.OwnAllocated})
		}
	}
	return rows
}

// typedLines returns a row for each of the user's lines, with all that the line called. A line's mapped memory has no
// row if at least half of it is arrays of the same line, which have one.
func typedLines(lines []model.Line) (rows []lineRow) {
	type place struct {
		pid, execution, line int
		file                 string
	}
	placeOf := func(l *model.Line) place { return place{l.PID, l.Execution, l.Line, l.File} }
	inner := map[place]int64{} // bytes that lie in mapped memory
	for i := range lines {
		if l := &lines[i]; words.LiesWithin(l.Meter) {
			inner[placeOf(l)] = max(inner[placeOf(l)], l.AtPeak)
		}
	}
	for i := range lines {
		l := &lines[i]
		isLibrarys := l.Native || l.Execution == 0 && model.IsLibrary(l.File)
		isArrays := words.IsOutermost(l.Meter) && 2*inner[placeOf(l)] >= l.AtPeak
		if isLibrarys || isArrays || l.AtPeak <= 0 {
			continue
		}
		rows = append(rows, lineRow{l, l.AtPeak, l.Allocated})
	}
	return rows
}

// frameText returns "In[3] f:12", or "file.py f:12".
func frameText(frame model.Frame) string {
	if frame.IsNowhere() {
		return escape.Bounded(frame.Function, 2*maxExcerpt)
	}
	where := frame.File
	if frame.InCell() {
		where = words.FrameCell(&frame)
	}
	if frame.Function != "" && frame.Function != "<module>" {
		where += " " + frame.Function
	}
	return escape.Bounded(fmt.Sprintf("%s:%d", where, frame.Line), 2*maxExcerpt)
}
