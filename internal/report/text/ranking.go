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
	trees := slices.ContainsFunc(shown, func(s stretch) bool { return v.needOf(s.tree()) > v.needOf(s.figures) })
	if trees {
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
		v.rankedRow(t, s, trees, others, statements)
	}
	v.Table(t)
	v.folded(rest)
}

// titlesOf returns the names of meters for people.
func titlesOf(ids []string) (all []string) {
	for _, id := range ids {
		all = append(all, words.Meter(id))
	}
	return all
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

func (v rankView) rankedRow(t *doc.Table, s stretch, trees bool, others []string,
	statements map[int][]model.Window) {
	cells := []doc.Span{doc.Bold(s.label)}
	if v.several {
		cells = append(cells, doc.Plain(fmt.Sprint(s.pid)))
	}
	meter := v.first()
	cells = append(cells, doc.FigureAt(words.Need, s.figures, meter))
	if trees {
		together := doc.Span{}
		if v.needOf(s.tree()) > v.needOf(s.figures) {
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
	text, look := v.summitOf(c, statements[c.ID]), doc.Plain
	if c.Status != model.OK && c.Status != "" {
		text, look = strings.TrimSuffix(escape.Bounded(c.Status, maxName)+" · "+text, " · "), doc.Red
	}
	t.Row(cells, words.Duration(c.DurationNS), look(text))
	if len(c.Refused) > 0 || c.Foreign != nil || c.Note != "" {
		bare := *c
		bare.Status = model.OK
		t.Below(trimmed(remarks(bare)))
	}
}

// folded sums up the items without a row in one line.
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
		case s.need < worthAGap: // there are as many such times as cells
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
