package html

import (
	"fmt"
	"slices"

	"ipytracer/internal/report/sheet"
	"ipytracer/internal/report/text"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// proof adds the certificate of the report.
func (b *builder) proof() {
	c := &b.r.Certificate
	p := proof{
		Complete: c.Complete, Finished: shown(c.Finished), Made: c.Made, Delivered: c.Delivered,
		Losses: shown(text.Losses(c)), Defects: c.BoundariesLost,
		Frees: [][2]string{}, Meters: [][4]string{}, Probes: []probe{},
	}
	for title, text := range words.UnknownFrees(c) {
		p.Frees = append(p.Frees, [2]string{title, text})
	}
	proofs := map[string]model.Proof{}
	ids := b.r.AllMeters()
	for _, proof := range c.Meters {
		proofs[proof.ID] = proof
		if !slices.Contains(ids, proof.ID) {
			ids = append(ids, proof.ID)
		}
	}
	meters := map[string]model.Meter{}
	for _, m := range b.r.Meters {
		meters[m.ID] = m
	}
	for _, id := range ids[:min(len(ids), mostReasons)] {
		m, served := meters[id]
		proof, compared := proofs[id]
		figures, proven := text.Agreement(m, served, proof, compared)
		p.Meters = append(p.Meters, [4]string{shown(words.Meter(id)), figures, proven, shown(m.Source)})
	}
	for _, served := range c.Probes[:min(len(c.Probes), mostReasons)] {
		p.Probes = append(p.Probes, probe{shown(served.Name), shown(served.Site), served.Hits})
	}
	reasons := slices.Concat(c.Incomplete, c.Problems, c.LateLibraries)
	p.Problems = shownAll(reasons[:min(len(reasons), mostReasons)])
	b.page.Proof = p
}

// left says, in words, what the page leaves out and how much that is.
func (b *builder) left() {
	leftOut := func(n int, what, why string) {
		if n > 0 {
			b.page.Left = append(b.page.Left, words.Plural(n, what)+" "+why)
		}
	}
	rows := &b.page.Rows
	leftOut(rows.Statements, "statement", "of lighter cells")
	leftOut(rows.Between, "stretch", "between cells in which nothing moved")
	leftOut(b.dropped, "window", "beyond what a page has room for")
	cells := 0
	for _, kind := range rows.Kind {
		if kind == kindCell {
			cells++
		}
	}
	leftOut(cells-len(b.choice.detailed), "lighter cell", "without who allocated in them")
	leftOut(len(rows.Cut), "source", "cut short")
	more := 0
	for _, d := range b.page.Details {
		more += d.More
	}
	leftOut(more, "stack", "without a box of their own: their sum is in the graph")
	leftOut(b.thinned, "point",
		"of the timeline: of each stretch of time it has the first, the lowest, the highest and the last")
	leftOut(b.omitted, "lighter track", "of the timeline")
	leftOut(len(b.r.Lines)-len(b.page.Lines), "lighter line", "of the session")
	leftOut(len(b.r.Processes)-len(b.page.Processes), "lighter process", "")
	leftOut(len(b.r.Tensors)-len(b.page.Tensors), "lighter group", "of PyTorch's blocks")
	leftOut(len(b.r.Variables)-len(b.page.Variables), "lighter name", "")
	if !b.choice.parts {
		b.page.Left = append(b.page.Left, "the parts of resident memory")
	}
}

// auditOf returns an audit as the page shows it.
func auditOf(a *model.Audit) *audit {
	out := &audit{Least: a.Least, Verdicts: []verdict{}, Held: []held{}, Not: []string{}}
	if len(a.Verdicts) == 0 {
		out.AllClear = shown(sheet.AllClear(a))
	}
	for i := range a.Verdicts[:min(len(a.Verdicts), mostVerdicts)] {
		v := &a.Verdicts[i]
		row := verdict{
			Title: shown(words.VerdictTitle(v.Kind)), Meter: shown(words.Meter(v.Meter)),
			Bytes: v.Bytes, Count: v.Count, Cells: shown(words.VerdictCells(v)), Age: v.AgeNS,
			Holder: shown(v.Holder), Probable: v.Probable, Evidence: shown(v.Evidence), Advice: shown(v.Advice),
			Fix: typed(v.Fix), PID: v.PID,
		}
		if len(v.Stack) > 0 {
			row.Line = shown(text.Who(v.Stack))
		}
		switch {
		case v.Change != nil:
			row.Execution = v.Change.Execution
		case len(v.Executions) > 0:
			row.Execution = v.Executions[0]
		}
		out.Verdicts = append(out.Verdicts, row)
	}
	out.More = len(a.Verdicts) - len(out.Verdicts)
	for _, h := range a.Held[:min(len(a.Held), mostHeld)] {
		out.Held = append(out.Held, held{
			shown(words.Meter(h.Meter)), shown(h.By), shown(h.Holder), h.Bytes, h.Count,
		})
	}
	out.MoreHeld = len(a.Held) - len(out.Held)
	for i := range a.NotJudged[:min(len(a.NotJudged), mostReasons)] {
		text := sheet.NotJudged(&a.NotJudged[i])
		if n := a.NotJudged[i].PID; n != 0 && len(a.Processes) > 1 {
			text = fmt.Sprintf("pid %d: %s", n, text)
		}
		out.Not = append(out.Not, shown(text))
	}
	return out
}
