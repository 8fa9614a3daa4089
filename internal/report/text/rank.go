package text

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// The most rows of the ranking, and the least need of a stretch between cells in it.
const (
	mostRanked  = 15
	worthAGap   = 1 << 20
	shareOfAGap = 100 // of the heaviest: one in …
)

// order is the ranking: cells and the times between them, the largest need first.
type order struct {
	*survey
	ranked []stretch
	near   limits
	rows   int // most rows of the table; 0 is the usual number
}

func newOrder(s *survey, near []model.Nearness, rows int) *order {
	return &order{survey: s, near: limits{near: near, summits: map[string]summit{}}, rows: rows}
}

// add adds a cell.
func (o *order) add(w *model.Window, b *brief) {
	o.near.rose(w.Together, b, nil)
	own := w.Meters[o.first()]
	s := stretch{
		id: w.ID, pid: w.PID, need: b.weight, start: w.StartNS, peak: o.highestOf(w), from: own.Start,
		top: own.Peak,
	}
	for _, c := range w.Children {
		meters := c.OwnMeters()
		if o.needOf(meters) >= worthAGap {
			s.took = append(s.took, taker{c.PID, meters[o.first()].Peak, o.needOf(meters)})
		} else {
			o.idle[c.PID] = max(o.idle[c.PID], meters[o.first()].Peak)
		}
	}
	o.ranked = append(o.ranked, s)
}

// rank goes through the report, and sorts cells and the times between them, the largest need first.
func (o *order) rank() {
	o.lookThrough(o.add)
	for i := range o.ranked {
		o.ranked[i].label = o.shortName(o.byID[o.ranked[i].id])
	}
	at := -1
	for b := range o.r.AllBetweenPassing() {
		at++
		o.inexact(b.Meters)
		if !o.pids[b.PID] { // a process without cells has no time between them
			continue
		}
		o.moves(b.Meters)
		o.near.rose(b.Together, nil, b)
		own := b.Meters[o.first()]
		whole, _ := b.Together(o.first())
		o.ranked = append(o.ranked, stretch{
			at: at, pid: b.PID, label: o.shortGap(*b), start: b.StartNS,
			need: max(o.needOf(b.Meters), o.needOf(b.Tree)), peak: max(own.Peak, whole.Peak), from: own.Start,
			top: own.Peak,
		})
	}
	slices.SortStableFunc(o.ranked, func(a, b stretch) int {
		return cmp.Or(cmp.Compare(b.need, a.need), cmp.Compare(a.start, b.start))
	})
	o.fill()
}

// fill fetches the shown cells and the times between them.
func (o *order) fill() {
	if len(o.ranked) == 0 {
		return
	}
	gaps := map[int]*stretch{}
	shown, _ := o.split()
	at, in := summitOf(o.ranked)
	shown = append(shown, at, in)
	for _, other := range o.otherSummits() {
		shown = append(shown, other, risenIn(o.ranked, other))
	}
	for _, i := range shown {
		s := &o.ranked[i]
		if s.id > 0 {
			s.cell = o.window(s.id)
			s.figures = s.cell.Meters
			continue
		}
		gaps[s.at] = s
	}
	number := -1
	for b := range o.r.AllBetweenPassing() {
		if len(gaps) == 0 {
			return
		}
		number++
		if s := gaps[number]; s != nil {
			one := *b
			one.Meters, one.Tree = maps.Clone(b.Meters), maps.Clone(b.Tree)
			s.gap, s.figures = &one, one.Meters
			delete(gaps, number)
		}
	}
}

// nameOf returns the name of a cell for people: its In[N]; if IPython counts none its first line, or without that the
// number of its run.
func nameOf(w *model.Window) string {
	if w.ExecutionCount != nil && !w.Silent {
		return escape.Bounded(label(*w), maxName)
	}
	for line := range strings.SplitSeq(beginning(w.Source), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			return "“" + escape.Bounded(line, maxCellText) + "”"
		}
	}
	return words.Cell(w.Execution, -1, w.Silent)
}

// maxCellText is the length of a cell's text, in cells, that names a cell without an In[N]: names stand in the first
// columns of tables.
const maxCellText = 16

// split divides the ranking into items with a row and folded ones.
func (o *order) split() (shown, rest []int) {
	most := mostRanked
	if o.rows > 0 {
		most = o.rows
	}
	least := int64(worthAGap)
	if len(o.ranked) > 0 {
		least = max(least, o.ranked[0].need/shareOfAGap)
	}
	for i, s := range o.ranked {
		if len(shown) < most && (s.need >= least || s.id > 0 && (s.need >= worthAGap || o.isTyped(s.id))) {
			shown = append(shown, i)
		} else {
			rest = append(rest, i)
		}
	}
	return shown, rest
}

// shown divides the ranking into shown and folded places: long sessions have many folded ones.
func (o *order) shown() (shown []stretch, rest []int) {
	rows, rest := o.split()
	for _, i := range rows {
		shown = append(shown, o.ranked[i])
	}
	return shown, rest
}

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

// otherMeters returns the meters with a column of their need beside the ranking one. Mapped memory is left out, because
// the others are within it.
func (o *order) otherMeters() (ids []string) {
	for _, id := range o.meters[min(1, len(o.meters)):] {
		if id != "cpu.mapped" && o.moving[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// titlesOf returns the names of meters for people.
func titlesOf(ids []string) (all []string) {
	for _, id := range ids {
		all = append(all, words.Meter(id))
	}
	return all
}

// idsOf returns the ids of the cells in a part of the ranking.
func idsOf(shown []stretch) map[int]bool {
	ids := map[int]bool{}
	for _, s := range shown {
		if s.cell != nil {
			ids[s.cell.ID] = true
		}
	}
	return ids
}

// summitOf returns the text of the line at which a cell was highest; of the whole cell if that is not known, or there
// is one line.
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
	meter := ""
	if len(v.meters) > 0 {
		meter = v.meters[0]
	}
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
		case s.need < worthAGap: // there are as many of these as cells
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

// beginning returns the longest part of a text that a line's excerpt can need.
func beginning(text string) string {
	if len(text) > maxProse {
		return escape.Prefix(text, maxProse)
	}
	return text
}
