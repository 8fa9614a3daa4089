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

// sessionRows are the windows and meters of a session that its Markdown has a place for.
type sessionRows struct {
	meters      []string                // the columns of needs
	cells       []windowRow             // the heaviest, up to a number
	experiments []windowRow             // the first
	more        int                     // cells without a row
	further     int                     // experiments without a row
	peaks       map[string]model.Figure // of the sessions, by meter, the highest
	order       int
	count       int // cells
	failed      int
}

// windowRow is the part of a window that its row needs.
type windowRow struct {
	order   int
	name    string // in Markdown
	status  string // in Markdown; "" for a window that ended well
	figures map[string]model.Figure
	source  string
	counted string // counters, in words
}

// rowsOf goes through the windows of a session. The meter that ranks the cells is the first one.
func rowsOf(report *model.Report, ranks string) *sessionRows {
	rows := &sessionRows{meters: headlinesOf(report, ranks), peaks: map[string]model.Figure{}}
	for window := range report.AllPassing() {
		rows.take(window)
	}
	return rows
}

// headlinesOf returns the meters with a column: those that users read, the ranking one first.
func headlinesOf(report *model.Report, ranks string) []string {
	known := report.AllMeters()
	all := words.Headlines(known)
	if len(all) == 0 {
		all = known
	}
	if slices.Contains(known, ranks) {
		all = words.First(all, ranks)
	}
	return all[:min(len(all), maxMeters)]
}

// need returns what a window needed of the ranking meter.
func (s *sessionRows) need(row *windowRow) int64 {
	if len(s.meters) == 0 {
		return 0
	}
	return row.figures[s.meters[0]].Need()
}

// take takes a window in, if it has a row.
func (s *sessionRows) take(window *model.Window) {
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
		s.further++
	}
}

// addCell adds a cell, and keeps the heaviest ones.
func (s *sessionRows) addCell(window *model.Window, row windowRow) {
	if s.count++; window.Status == model.Error {
		s.failed++
	}
	row.source = window.Source[:min(len(window.Source), 4*maxExcerpt*4)]
	s.cells = append(s.cells, row)
	slices.SortStableFunc(s.cells, func(a, b windowRow) int {
		return cmp.Or(cmp.Compare(s.need(&b), s.need(&a)), cmp.Compare(a.order, b.order))
	})
	if len(s.cells) > maxCells {
		s.cells = s.cells[:maxCells]
		s.more++
	}
}

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

// frameText returns "In[3] f:12", or a file and a line.
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
