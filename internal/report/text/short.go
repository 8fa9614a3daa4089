package text

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// short writes the report that fits on a screen or two.
func (v *view) short() {
	headlineView{v}.lead()
	v.figures()
	parts{v}.last()
}

// figures writes the sections about cells. They do not change once the session is over.
func (v *view) figures() {
	headerView{v}.about()
	if len(v.cells) == 0 {
		headerView{v}.noCells()
	} else {
		rankView{v}.ranking()
	}
	cellView{v}.experiments()
	lineView{v}.heaviestLines()
	heapView{v}.whoAllocatedShort()
	processView{v}.childrenShort()
}

// about describes in a line each process that runs cells, and the traced time.
func (v headerView) about() {
	if len(v.ranked) > 0 {
		v.Blank()
	}
	for _, p := range v.kernels() {
		name, parts := versions(p)
		parts = append(parts, doc.Plain(escape.Bounded(p.Frontend, maxName)))
		parts = append(parts, origin(p)...)
		if p.IPython == "" {
			parts = append(parts, doc.Plain(escape.Bounded(p.Command, maxProse)))
		}
		if p.Late {
			parts = append(parts, doc.Plain("was running before"))
		}
		v.Field(name, parts)
		memoryLimits(v.Document, p)
		if len(v.cells) == 0 {
			v.Field(words.Meter(v.first()), course(v.life(p), v.first()))
		}
	}
	v.devices()
	v.session()
}

// fewStatements is the most lines of a cell in the short report, and fewCallers the most rows of allocations.
const (
	fewStatements = 4
	fewCallers    = 3
)

// heaviestLines shows the heaviest cells line by line, in one table.
func (v lineView) heaviestLines() {
	shown, _ := v.shown()
	of := v.statementsOf(idsOf(shown))
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
		if s.cell == nil || left <= 0 || s.need <= 0 || len(of[s.id]) < 2 { // one statement is the cell itself
			continue
		}
		left--
		heavy, rest := v.heaviestOf(of[s.cell.ID])
		hidden += len(rest)
		for _, w := range rest {
			most = max(most, v.weight(w))
		}
		lines := cellLines(*s.cell)
		summit := v.summitAmong(heavy, s.cell)
		label := doc.Bold(s.label)
		for i, w := range heavy {
			r := statementRow(w, lines, i == summit)
			cells := append([]doc.Span{label}, r.lead...)
			cells = append(cells, doc.FigureAt(words.Need, v.heavierFigures(&w), meter),
				doc.FigureAt(words.Consumed, v.heavierFigures(&w), meter))
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

// heaviestOf picks the statements of a cell with a row, in the order they ran.
func (v lineView) heaviestOf(all []model.Window) (shown, rest []model.Window) {
	ranked := slices.DeleteFunc(slices.Clone(all), func(w model.Window) bool {
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

// whoAllocatedShort shows, for the heaviest cells, the allocations that lived at their highest moments, in one table.
func (v heapView) whoAllocatedShort() {
	t := doc.NewTable(doc.Left("cell"), doc.Left("meter"), doc.Bytes("at peak"), doc.Bytes("allocated").Drop(2),
		doc.Right("times").Drop(1), doc.Flex("who"))
	left := v.detailed()
	var open []string
	for _, s := range v.ranked {
		if s.id == 0 || left <= 0 {
			continue
		}
		cell := v.fetch(s.id)
		v.detail(cell)
		callers := callersOf(cell)
		callers = slices.DeleteFunc(callers, func(a *caller) bool {
			return a.Allocated < WorthShowing || words.IsOutermost(a.Meter) && !a.users
		})
		if len(callers) == 0 {
			continue
		}
		left--
		if slices.ContainsFunc(coverages(cell), func(c model.Coverage) bool { return !c.Exact }) {
			open = append(open, s.label)
		}
		label := doc.Bold(s.label)
		for i, a := range callers[:min(len(callers), fewCallers)] {
			if i > 0 && a.AtPeak < callers[0].AtPeak/16 {
				break
			}
			t.Row(label, words.Meter(a.Meter), a.about(words.Bytes(a.AtPeak)), a.about(words.Bytes(a.Allocated)),
				doc.Dim(a.about(words.Count(uint64(max(0, a.Count))))), a.who)
			label = doc.Span{}
		}
	}
	if t.Len() == 0 {
		return
	}
	v.Heading("Who allocated in them (at peak: of that, what was there at the cell's highest moment)")
	v.Table(t)
	if len(open) > 0 {
		v.Prose("", doc.Dim("Not all of it is known in "+strings.Join(open, ", ")+"; --full says how much."))
	}
}

func coverages(w *model.Window) (all []model.Coverage) {
	for _, c := range w.Coverage {
		all = append(all, c)
	}
	return all
}
