package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ipytracer/model"
	"ipytracer/report/escape"
	"ipytracer/words"
)

// lead says in a few lines what most people came for: the highest moment of what came nearest to its limit, what it was made of, what of it
// is still there, what to delete, and how sure all that is.
func (v *view) lead() {
	v.endings()
	if !v.leads() {
		return
	}
	v.leadHighest()
	v.leadLeft()
	v.answer("how sure", v.howSure(v.summit()))
}

// leads reports whether there is a highest moment to lead with.
func (v *view) leads() bool { return len(v.meters) > 0 && len(v.ranked) > 0 }

// leadHighest is the part about the highest moment.
func (v *view) leadHighest() {
	top := v.summit()
	other := func(name string, front bool) {
		if text := v.near.beside(v.first(), front, v.o.By != "", top.highest(v.first()), v.whereOf); text != "" {
			v.answer(name, text)
		}
	}
	other("nearest", true)
	v.answer("highest", v.highestMoment(top))
	other("also", false)
	v.answer("made by", v.madeBy(top))
}

// leadLeft is the part about what is left, for which somebody has looked at what holds it.
func (v *view) leadLeft() {
	rest := leftoverOf(v, v.summit().pid)
	v.answer("still there", rest.stillThere())
	v.answer("to free it", rest.toFree())
}

// answer is one line, whatever its length.
func (v *view) answer(name string, text string) {
	if v.told != nil {
		v.told(name, text)
		return
	}
	v.clipped([]span{{escape.Pad(name, 13, false), dim}, {text, plain}}, v.width)
	v.blank()
}

// summit is the cell, or the time between two, in which the meter that ranks was at its highest, of all processes together.
func (v *view) summit() *stretch { return &v.ranked[v.summitAt()] }

// summitAt is where it is in the ranking.
func (v *view) summitAt() int {
	best := 0
	for i := range v.ranked {
		if v.ranked[i].peak > v.ranked[best].peak {
			best = i
		}
	}
	return best
}

// highest is the figure of a meter where it ranks: with its children where that is more.
func (s *stretch) highest(meter string) model.Figure {
	f := s.figures[meter]
	if s.cell != nil {
		if together, ok := s.cell.Tree[meter]; ok && together.Peak > f.Peak {
			return together
		}
	}
	return f
}

func (v *view) highestMoment(top *stretch) string {
	meter := v.meters[0]
	own := highest.show(top.figures, meter).text
	if top.cell == nil {
		return v.near.reached(meter, top.figures[meter], own) + " " + v.gapLabel(*top.gap)
	}
	size, with := own, ""
	if top.highest(meter).Peak > top.figures[meter].Peak {
		size, with = highest.show(top.cell.Tree, meter).text, ", with its children ("+own+" without)"
	}
	text := v.near.reached(meter, top.highest(meter), size) + " in " + top.label
	if v.several {
		text += fmt.Sprintf(" of pid %d", top.cell.PID)
	}
	all := v.statementsOf(map[int]bool{top.cell.ID: true})[top.cell.ID]
	if i := v.summitAmong(all, top.cell); i >= 0 {
		where, source := statementLabel(all[i], cellLines(*top.cell))
		return text + ", " + where + with + source
	}
	return text + with + ": " + escape.OneLine(top.cell.Source, top.cell.SourceTruncated, maxProse)
}

// statementLabel is "line 4" and ": model.fit(X, y)"; the name of a statement that is none of the user's, such as "display and hooks".
func statementLabel(w model.Window, lines []string) (where, source string) {
	if w.Name != "" {
		return escape.Bounded(w.Name, maxName), ""
	}
	text := escape.OneLine(w.Source, false, maxProse)
	if w.Line > 0 && w.Line <= len(lines) {
		text = escape.OneLine(lines[w.Line-1], false, maxProse)
	}
	where = "one of its lines"
	if w.Line > 0 {
		where = fmt.Sprintf("line %d", w.Line)
	}
	if text != "" {
		source = ": " + strings.TrimSpace(text)
	}
	return where, source
}

// madeBy names what was there at the highest moment, the most first.
func (v *view) madeBy(top *stretch) string {
	if top.cell == nil {
		return v.keptBefore(top)
	}
	v.detail(top.cell)
	callers, ranks := v.callers(top.cell), memory(v.first())
	var parts []string
	for _, a := range callers {
		if len(parts) < 3 && a.AtPeak >= worthShowing && ranks.has(a.Meter) && (a.users || !words.IsOutermost(a.Meter)) {
			parts = append(parts, a.about(words.Bytes(a.AtPeak))+" "+meterName(a.Meter)+" "+a.who)
		}
	}
	if len(parts) == 0 {
		return "not known: no line that allocated at least " + words.Bytes(worthShowing) + " of it was seen"
	}
	return strings.Join(parts, " · ")
}

// keptBefore names what a time between cells stands on, when it is the highest: the cells before it that kept the most.
func (v *view) keptBefore(top *stretch) string {
	meter := v.meters[0]
	var kept []*stretch
	for i := range v.ranked {
		if s := &v.ranked[i]; s.cell != nil && s.pid == top.pid && s.start <= top.start && s.figures[meter].Consumed >= worthAGap {
			kept = append(kept, s)
		}
	}
	slices.SortStableFunc(kept, func(a, b *stretch) int {
		return cmp.Compare(b.figures[meter].Consumed, a.figures[meter].Consumed)
	})
	text := "no cell: it rose by " + need.show(top.figures, meter).text + " while none ran"
	var parts []string
	for _, s := range kept[:min(len(kept), 3)] {
		parts = append(parts, s.label+" "+consumed.show(s.figures, meter).text)
	}
	if len(parts) > 0 {
		text += "; before it the most was kept by " + strings.Join(parts, ", ")
	}
	return text
}

// howSure says in one line what the certificate says.
func (v *view) howSure(top *stretch) string {
	reasons := v.doubts()
	f, why := top.highest(v.first()), ""
	if f.Peak > top.figures[v.first()].Peak {
		why = ": what forked children share with the kernel, and what they copied"
	}
	switch {
	case !f.Exact && model.Vague(f.Peak, f.Bound):
		reasons = append([]string{"the highest moment is " + words.Vague + why}, reasons...)
	case !f.Exact && f.Bound != nil:
		reasons = append([]string{"the highest moment can be off by " + words.Bytes(*f.Bound) + why}, reasons...)
	case !f.Exact:
		reasons = append([]string{"the highest moment is at least this"}, reasons...)
	}
	if len(reasons) == 0 {
		return "exact: every change arrived, and every peak was computed twice, to the byte the same"
	}
	text := reasons[0]
	if len(reasons) > 1 {
		text += fmt.Sprintf("; and %s, see the end", words.Plural(len(reasons)-1, "more reason"))
	}
	return text
}
