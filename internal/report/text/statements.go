package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// maxStatements is the most listed lines of one cell.
const maxStatements = 20

// lineView shows cells line by line.
type lineView struct{ *view }

// statements shows the heaviest cells, each in a table of its lines.
func (v lineView) statements() {
	left := v.detailed()
	var shown []*model.Window
	wanted := map[int]bool{}
	for _, c := range v.cells {
		if left <= 0 {
			break
		}
		if c.statements < 2 { // one statement is the cell itself
			continue
		}
		if w := v.fetch(c.id); v.moved(w.Meters) {
			shown = append(shown, w)
			wanted[c.id] = true
			left--
		}
	}
	statements := v.statementsOf(wanted)
	for _, w := range shown {
		v.lineTable(*w, statements[w.ID])
	}
}

// lineTable lists the statements of one cell that moved memory, in the order they ran, and marks the one during which
// the cell was highest.
func (v lineView) lineTable(c model.Window, statements []model.Window) {
	heavy := slices.DeleteFunc(slices.Clone(statements), func(w model.Window) bool { return !v.moved(w.Meters) })
	idle := len(statements) - len(heavy)
	ranked := slices.Clone(heavy)
	slices.SortStableFunc(ranked, func(a, b model.Window) int { return cmp.Compare(v.weight(b), v.weight(a)) })
	if len(heavy) > maxStatements {
		keep := map[int]bool{}
		for _, w := range ranked[:maxStatements] {
			keep[w.ID] = true
		}
		heavy = slices.DeleteFunc(heavy, func(w model.Window) bool { return !keep[w.ID] })
	}
	v.Heading(v.cellName(c) + ", line by line")
	v.Blank()
	lines := cellLines(c)
	summit := slices.IndexFunc(heavy, func(w model.Window) bool { return v.reachesPeak(w, c) })
	var rows []figureRow
	for i, w := range heavy {
		rows = append(rows, statementRow(w, lines, i == summit))
	}
	v.figureTable([]doc.Column{doc.Left(""), doc.Right("line")}, []doc.Column{doc.Flex("source")}, slices.Values(rows),
		words.Need, words.Consumed, words.Peaked)
	v.unlisted(ranked[len(heavy):], idle)
	if summit >= 0 {
		v.Prose("", doc.Dim("▲ the cell was at its highest here"))
	}
}

// statementRow returns the row of a statement: a mark if the cell was highest during it, its line's number, its figures
// and its text. lines are the cell's. The text of a statement that failed begins with its status, and is red.
func statementRow(w model.Window, lines []string, isSummit bool) figureRow {
	mark := doc.Span{}
	if isSummit {
		mark = doc.Bold("▲")
	}
	number, text := "-", w.Source
	if w.Name != "" {
		text = escape.Bounded(w.Name, maxName)
	}
	if w.Line > 0 {
		number = fmt.Sprint(w.Line)
		if w.Line <= len(lines) {
			text = lines[w.Line-1]
		}
	}
	shown := doc.Plain(escape.Lines(text, false, maxLead))
	hasFailed := w.Status != "" && w.Status != model.OK
	if hasFailed {
		shown = doc.Red(strings.TrimSuffix(w.Status+" · "+shown.Text, " · ")) // the text may be empty
	}
	return figureRow{lead: doc.Spans(mark, number), figures: w.Meters, trail: doc.Spans(shown)}
}

// unlisted says how many statements of a cell have no row: rest, the heaviest first, and idle ones that moved nothing.
func (v lineView) unlisted(rest []model.Window, idle int) {
	if len(rest) > 0 {
		v.Note("… and %s, none of which needed more than %s.", words.Plural(len(rest), "more line"),
			words.Bytes(v.weight(rest[0])))
	}
	if idle > 0 {
		v.Prose("", doc.Dim(words.Plural(idle, "other line")+" moved no memory."))
	}
}

// fewStatements is the most lines of a cell in the short report, and fewCallers the most rows of allocations.
const (
	fewStatements = 4
	fewCallers    = 3
)

// heaviestLines shows the heaviest cells line by line, in one table.
func (v lineView) heaviestLines() {
	shown, _ := v.shown()
	statements := v.statementsOf(idsOf(shown))
	left := v.detailed()
	meter := v.first()
	others := v.otherMeters()
	t := doc.NewTable(doc.Left("cell"), doc.Left(""), doc.Right("line"), doc.Bytes("need"), doc.Bytes("consumed"))
	for i, id := range others {
		t.Columns = append(t.Columns, doc.Bytes(words.Meter(id)).Drop(1+i))
	}
	t.Columns = append(t.Columns, doc.Flex("source"))
	hidden, most := 0, int64(0)
	for _, s := range v.ranked {
		if s.cell == nil || left <= 0 || s.need <= 0 || len(statements[s.id]) < 2 { // one statement is the cell itself
			continue
		}
		left--
		heavy, rest := v.heaviestOf(statements[s.id])
		hidden += len(rest)
		for _, w := range rest {
			most = max(most, v.weight(w))
		}
		lines := cellLines(*s.cell)
		summit := v.summitAmong(heavy, s.cell)
		label := doc.Bold(s.label)
		for i, w := range heavy {
			r := statementRow(w, lines, i == summit)
			figures := v.heavierFigures(&w)
			cells := append([]doc.Span{label}, r.lead...)
			cells = append(cells, doc.FigureAt(words.Need, figures, meter))
			cells = append(cells, doc.FigureAt(words.Consumed, figures, meter))
			for _, id := range others {
				cells = append(cells, doc.FigureAt(words.Need, w.Meters, id))
			}
			t.Row(append(cells, r.trail...))
			label = doc.Span{}
		}
	}
	if t.Len() == 0 {
		return
	}
	v.Heading("Line by line (▲ where the cell rose to its highest)")
	v.Table(t)
	if hidden > 0 && most > 0 {
		v.Note("… and %s, none of which needed more than %s.", words.Plural(hidden, "more line"), words.Bytes(most))
	}
}

// heaviestOf picks the statements of a cell that get a row, in the order they ran. rest are the others, the heaviest
// first. Statements that moved no memory are in neither.
func (v lineView) heaviestOf(statements []model.Window) (shown, rest []model.Window) {
	ranked := slices.DeleteFunc(slices.Clone(statements), func(w model.Window) bool {
		return !v.moved(w.Meters) && v.weight(w) <= 0
	})
	slices.SortStableFunc(ranked, func(a, b model.Window) int { return cmp.Compare(v.weight(b), v.weight(a)) })
	for i, w := range ranked {
		if i < fewStatements && (i == 0 || v.weight(w) >= v.weight(ranked[0])/100) {
			shown = append(shown, w)
		} else {
			rest = append(rest, w)
		}
	}
	slices.SortStableFunc(shown, func(a, b model.Window) int { return cmp.Compare(a.ID, b.ID) })
	return shown, rest
}
