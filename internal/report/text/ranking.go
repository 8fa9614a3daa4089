package text

import (
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// rankView shows the table of the ranking.
type rankView struct{ *view }

// ranking shows the table of cells and of the times between them.
func (v rankView) ranking() {
	shown, rest := v.shown()
	by := ""
	if len(v.meters) > 0 {
		by = words.Meter(v.meters[0]) + " memory, "
	}
	v.Heading("Cells, by what they need")
	legend := by + "need = highest − start · consumed = end − start · total = at the end"
	others := v.otherMeters()
	if len(others) > 0 {
		legend += " · " + strings.Join(titlesOf(others), ", ") + ": need"
	}
	v.Prose("", doc.Dim(legend))
	t := doc.NewTable(doc.Left("cell"))
	if v.several {
		t.Columns = append(t.Columns, doc.Right("pid"))
	}
	t.Columns = append(t.Columns, doc.Bytes("need"))
	withChildren := slices.ContainsFunc(shown, v.childrenNeedMore)
	if withChildren {
		t.Columns = append(t.Columns, doc.Bytes("with children").Drop(1))
	}
	t.Columns = append(t.Columns, doc.Bytes("consumed").Drop(2),
		doc.Bytes("total").Drop(100))
	for i, id := range others {
		t.Columns = append(t.Columns, doc.Bytes(words.Meter(id)).Drop(5+i))
	}
	t.Columns = append(t.Columns, doc.Right("time").Drop(4),
		doc.Flex("where it was highest"))
	statements := v.statementsOf(idsOf(shown))
	for _, s := range shown {
		v.rankedRow(t, s, withChildren, others, statements)
	}
	v.Table(t)
	v.folded(rest)
}

// childrenNeedMore reports whether a process and its children together needed more than the process alone.
func (v rankView) childrenNeedMore(s stretch) bool { return v.needOf(s.tree()) > v.needOf(s.figures) }

// titlesOf returns the names of meters for people.
func titlesOf(ids []string) (titles []string) {
	for _, id := range ids {
		titles = append(titles, words.Meter(id))
	}
	return titles
}

// summitOf returns the text of the line at which a cell was highest. It returns the whole cell's text if that line is
// not known, or if the cell has only one line.
func (v rankView) summitOf(c *model.Window, statements []model.Window) string {
	if i := v.summitAmong(statements, c); i >= 0 && len(statements) > 1 {
		where, source := statementLabel(statements[i], cellLines(*c))
		return where + source
	}
	return escape.Lines(c.Source, c.SourceTruncated, maxLead)
}

// rankedRow adds the row of a stretch. withChildren says whether the table has a column for children; others are the
// meters with a column for their need; statements are by cell.
func (v rankView) rankedRow(t *doc.Table, s stretch, withChildren bool, others []string,
	statements map[int][]model.Window) {
	cells := []doc.Span{doc.Bold(s.label)}
	if v.several {
		cells = append(cells, doc.Plain(fmt.Sprint(s.pid)))
	}
	meter := v.first()
	cells = append(cells, doc.FigureAt(words.Need, s.figures, meter))
	if withChildren {
		together := doc.Span{}
		if v.childrenNeedMore(s) {
			together = doc.FigureAt(words.Need, s.tree(), meter)
		}
		cells = append(cells, together)
	}
	cells = append(cells, doc.FigureAt(words.Consumed, s.figures, meter), doc.FigureAt(words.Total, s.figures, meter))
	for _, id := range others {
		cells = append(cells, doc.FigureAt(words.Need, s.figures, id))
	}
	if s.gap != nil {
		text := doc.Dim("(no cell ran: hooks, threads, timers)")
		t.Row(cells, words.Duration(s.gap.DurationNS), text)
		return
	}
	c := s.cell
	text, style := v.summitOf(c, statements[c.ID]), doc.Plain
	if c.Status != model.OK && c.Status != "" {
		text = strings.TrimSuffix(escape.Bounded(c.Status, maxName)+separator+text, separator)
		style = doc.Red
	}
	t.Row(cells, words.Duration(c.DurationNS), style(text))
	if len(c.Refused) > 0 || c.Foreign != nil || c.Note != "" {
		withoutStatus := *c
		withoutStatus.Status = model.OK
		t.Below(trimmed(remarks(withoutStatus)))
	}
}

// folded sums up the stretches without a row in one line. rest are their places in the ranking.
func (v rankView) folded(rest []int) {
	if len(rest) == 0 {
		return
	}
	cells, gaps, most, sum := 0, 0, int64(0), int64(0)
	for _, i := range rest {
		s := &v.ranked[i]
		switch {
		case s.id > 0:
			cells++
		case s.need < worthAGap: // a time between cells in which almost nothing happened is not mentioned
			continue
		default:
			gaps++
		}
		most = max(most, s.need)
		sum += max(0, s.need)
	}
	if cells+gaps == 0 {
		return
	}
	var what []string
	if cells > 0 {
		what = append(what, words.Plural(cells, "more cell"))
	}
	if gaps > 0 {
		what = append(what, words.Plural(gaps, "stretch")+" between cells")
	}
	each := ", none needs more than " + words.Bytes(most)
	if most <= 0 {
		each = ", none needs any"
	} else if cells+gaps > 1 {
		each = ", together " + words.Bytes(sum) + each
	}
	v.Prose("", doc.Dim("… and "+strings.Join(what, ", ")+each+"; --full prints all."))
}
