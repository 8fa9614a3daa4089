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

// statements shows the heaviest cells line by line.
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
	of := v.statementsOf(wanted)
	for _, w := range shown {
		v.drill(*w, of[w.ID])
	}
}

// detailed returns the number of heaviest cells that are shown in detail.
func (v *view) detailed() int {
	if v.o.Statements == 0 {
		return 3
	}
	return v.o.Statements
}

// drill lists the statements of one cell that moved memory, in the order they ran, and marks the one during which the
// cell was highest.
func (v lineView) drill(c model.Window, statements []model.Window) {
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
	summit := slices.IndexFunc(heavy, func(w model.Window) bool { return v.reaches(w, c) })
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

// cellLines returns the lines of a cell by the numbers of its statements. The code into which a cell magic turns a
// whole cell is one line.
func cellLines(c model.Window) []string {
	lines := strings.Split(c.Source, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "%%") {
			return append(lines[:i], strings.Join(lines[i:], "\n"))
		}
		if strings.TrimSpace(line) != "" {
			break
		}
	}
	return lines
}

func statementRow(w model.Window, lines []string, summit bool) figureRow {
	number, text, mark, look := "-", w.Source, doc.Span{}, doc.Plain
	if w.Name != "" {
		text = escape.Bounded(w.Name, maxName)
	}
	if w.Line > 0 {
		number = fmt.Sprint(w.Line)
		if w.Line <= len(lines) {
			text = lines[w.Line-1]
		}
	}
	if summit {
		mark = doc.Bold("▲")
	}
	text = escape.Lines(text, false, maxLead)
	if w.Status != model.OK && w.Status != "" {
		text, look = strings.TrimSuffix(w.Status+" · "+text, " · "), doc.Red
	}
	return figureRow{lead: doc.Spans(mark, number), figures: w.Meters, trail: doc.Spans(look(text))}
}

// unlisted counts the statements of a cell without a row: rest, heaviest first, and those that moved nothing.
func (v lineView) unlisted(rest []model.Window, idle int) {
	if len(rest) > 0 {
		v.Note("… and %s, none of which needed more than %s.", words.Plural(len(rest), "more line"),
			words.Bytes(v.weight(rest[0])))
	}
	if idle > 0 {
		v.Prose("", doc.Dim(words.Plural(idle, "other line")+" moved no memory."))
	}
}
