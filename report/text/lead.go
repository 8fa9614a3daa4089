package text

import (
	"cmp"
	"fmt"
	"regexp"
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
	if len(v.meters) == 0 || len(v.ranked) == 0 {
		return
	}
	top := v.summit()
	v.beside(true, top.highest(v.first()))
	v.answer("highest", v.highestMoment(top))
	v.beside(false, top.highest(v.first()))
	v.answer("made by", v.madeBy(top))
	v.answer("still there", v.stillThere(top))
	v.answer("to free it", v.toFree(top))
	v.answer("how sure", v.howSure(top))
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
		return v.reached(top.figures[meter], own) + " " + v.gapLabel(*top.gap)
	}
	size, with := own, ""
	if top.highest(meter).Peak > top.figures[meter].Peak {
		size, with = highest.show(top.cell.Tree, meter).text, ", with its children ("+own+" without)"
	}
	text := v.reached(top.highest(meter), size) + " in " + top.label
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
	callers := v.callers(top.cell)
	var parts []string
	for _, a := range callers {
		if len(parts) < 3 && a.AtPeak >= worthShowing && v.isOf(a.Meter) && (a.users || !words.IsOutermost(a.Meter)) {
			parts = append(parts, words.Bytes(a.AtPeak)+" "+meterName(a.Meter)+" "+a.who)
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

// left are the lines of cells by what they have made in the session that is there still, the most first.
func (v *view) left(pid int) (all []model.Line) {
	for _, l := range v.r.Lines {
		if l.PID == pid && l.Execution > 0 && l.Function == "<module>" && l.Left >= worthShowing && v.isOf(l.Meter) && !words.IsOutermost(l.Meter) {
			all = append(all, l)
		}
	}
	slices.SortStableFunc(all, func(a, b model.Line) int { return cmp.Compare(b.Left, a.Left) })
	for i := range all { // what is next to nothing beside the first is not worth a word
		if i > 0 && all[i].Left < all[0].Left/100 {
			return all[:i]
		}
	}
	return all
}

func (v *view) stillThere(top *stretch) string {
	text := words.Bytes(v.endOfCells(top.pid)) + " after the last cell"
	if cached := v.ends[top.pid].cached; cached >= worthAGap {
		text += " (" + words.Bytes(cached) + " of it PyTorch's cache)"
	}
	if named := v.named(top.pid); len(named) > 0 {
		parts, rest := v.nameAll(named, 3), v.unnamedLines(top.pid, named)
		for _, l := range rest[:min(len(rest), 3)] {
			parts = append(parts, words.Bytes(l.Left)+" "+meterName(l.Meter)+" of "+place(l.Frame))
		}
		if more := len(rest) - 3; more > 0 {
			parts = append(parts, words.Plural(more, "more line"))
		}
		return text + ", in it " + strings.Join(parts, ", ")
	}
	all := v.left(top.pid)
	var parts []string
	for _, l := range all[:min(len(all), 3)] {
		parts = append(parts, words.Bytes(l.Left)+" "+meterName(l.Meter)+" of "+place(l.Frame))
	}
	if len(parts) > 0 {
		text += ", in it " + strings.Join(parts, ", ")
		if more := len(all) - len(parts); more > 0 {
			text += ", " + words.Plural(more, "more line")
		}
	}
	return text
}

// endOfCells is what the meter that ranks had when the last cell of a process was over.
func (v *view) endOfCells(pid int) (end int64) { return v.ends[pid].end }

var assigned = regexp.MustCompile(`^\s*([\pL_][\pL\pN_]*)\s*=[^=]`)

// toFree names what to delete. Where no name is known to hold it, it says which the lines that made it assign: a hint, not more, because
// `scores = [m.fit(X).score(y) for m in models]` leaves its memory to models.
func (v *view) toFree(top *stretch) string {
	if named := v.named(top.pid); len(named) > 0 {
		text, rest := v.freeing(named), v.unnamedLines(top.pid, named)
		switch {
		case text == "" && len(rest) > 0:
			return "no name of the notebook's holds much; tracer audit says what holds " + words.Bytes(rest[0].Left) + " of " + place(rest[0].Frame)
		case text == "":
			return "no name of the notebook's holds much; tracer audit says what holds the rest"
		case len(rest) > 0:
			text += " · tracer audit says what holds " + words.Bytes(rest[0].Left) + " of " + place(rest[0].Frame)
		}
		return text
	}
	var parts []string
	seen := map[string]bool{}
	for _, l := range v.left(top.pid) {
		if len(parts) == 3 || l.Left < worthAGap {
			continue
		}
		name := ""
		if m := assigned.FindStringSubmatch(v.textOf(l)); m != nil {
			name = m[1]
		}
		if name == "" || seen[name] {
			continue
		}
		seen[name] = true
		parts = append(parts, fmt.Sprintf("%s (%s)", name, words.Bytes(l.Left)))
	}
	if len(parts) == 0 {
		return "no line of a cell keeps much under a name; tracer audit says what holds the rest"
	}
	text := "nobody looked at what holds it, as the kernel had ended"
	if slices.ContainsFunc(v.r.Names, func(n model.Names) bool { return n.PID == top.pid }) {
		text = "no name holds much alone; tracer audit says what holds it"
	}
	return text + ": the lines that made it assign " + strings.Join(parts, ", ")
}

// named are what a process has by name in the end and what would go with the name, the most first.
func (v *view) named(pid int) (all []model.Variable) {
	for _, x := range v.r.Variables {
		if x.PID == pid && v.held(&x) >= worthAGap {
			all = append(all, x)
		}
	}
	slices.SortStableFunc(all, func(a, b model.Variable) int { return cmp.Compare(v.held(&b), v.held(&a)) })
	return all
}

// unnamedLines are the lines of cells that made what is there still, and that made none of what names hold alone.
func (v *view) unnamedLines(pid int, named []model.Variable) []model.Line {
	return slices.DeleteFunc(v.left(pid), func(l model.Line) bool {
		return l.Left < worthAGap || slices.ContainsFunc(named, func(x model.Variable) bool { return x.Execution == l.Execution && x.Line == l.Line })
	})
}

// nameAll is "x 512.00 MiB", of the first few.
func (v *view) nameAll(all []model.Variable, few int) (out []string) {
	for _, x := range all[:min(len(all), few)] {
		out = append(out, escape.Bounded(x.Name, maxName)+" "+words.Bytes(v.held(&x)))
	}
	if more := len(all) - few; more > 0 {
		out = append(out, words.Plural(more, "more name"))
	}
	return out
}

// freeing says what to type to be rid of what names hold, the most first: variables, what the notebook has shown, the last error; "" where
// it is nothing of these.
func (v *view) freeing(all []model.Variable) string {
	var names, others []string
	var bytes int64
	said := map[string]bool{}
	for _, x := range all {
		other := ""
		switch x.Kind {
		case "variable":
			if len(names) < 4 {
				names = append(names, escape.Bounded(x.Name, maxName))
				bytes += v.held(&x)
			}
		case "output":
			other = "%reset -f out"
		case "traceback":
			other = "the next error lets go of the last traceback"
		}
		if other != "" && !said[other] {
			said[other] = true
			others = append(others, other+" ("+words.Bytes(v.held(&x))+")")
		}
	}
	if len(names) > 0 {
		others = append([]string{"del " + strings.Join(names, ", ") + " (" + words.Bytes(bytes) + ")"}, others...)
	}
	return strings.Join(others, " · ")
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
