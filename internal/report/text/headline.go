package text

import (
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// headlineView writes the first lines of a report.
type headlineView struct{ *view }

// lead answers in a few lines the questions of most users: the highest moment of the memory that came nearest to its
// limit, its parts, the part that is still there, the names to delete, and the certainty of all that.
func (v headlineView) lead() {
	endingView(v).endings()
	if !v.leads() {
		v.leadIdle(false)
		return
	}
	v.leadHighest()
	v.leadLeft()
	v.Answer("how sure", highestMoment(v.view).howSure())
}

// leads reports whether there is a highest moment for the first lines.
func (v headlineView) leads() bool { return len(v.meters) > 0 && len(v.ranked) > 0 }

// leadHighest writes the part about the highest moment.
func (v headlineView) leadHighest() {
	top := highestMoment(v.view)
	other := func(name string, front bool) {
		if text := v.near.beside(v.first(), front, v.o.By != "", top.figure(), v.whereOf); text != "" {
			v.Answer(name, text)
		}
	}
	other("nearest", true)
	v.Answer("highest", top.where())
	v.otherHighest()
	other("also", false)
	v.Answer("made by", top.madeBy())
}

// leadLeft writes the part about the remaining memory, after a look at its holders.
func (v headlineView) leadLeft() {
	v.leadRest(leftoverOf(v.view, highestMoment(v.view).in.pid))
}

// leadRest writes the lines about the remaining memory of a process.
func (v headlineView) leadRest(rest *leftover) {
	in := inKernel(v.r, rest.pid)
	v.Answer("still there", in+rest.stillThere())
	switch {
	case !rest.isWorthFreeing() || !rest.isTyped():
	case rest.idle && len(rest.named()) == 0 && rest.freeing() == "":
		v.Answer("to free it", in+rest.nothingNamed())
	default:
		v.Answer("to free it", in+rest.toFree(), rest.code()...)
	}
	if text := rest.keptByMalloc(); text != "" {
		v.Answer("malloc keeps", in+text, model.MallocTrim)
	}
}

// statementLabel returns "line 4" and ": model.fit(X, y)"; for a statement that is not the user's its name, such as
// "display and hooks".
func statementLabel(w model.Window, lines []string) (where, source string) {
	if w.Name != "" {
		return escape.Bounded(w.Name, maxName), ""
	}
	text := escape.Lines(w.Source, false, maxLead)
	if w.Line > 0 && w.Line <= len(lines) {
		text = escape.Lines(lines[w.Line-1], false, maxLead)
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

// butFor names what is not exact beside an exact highest moment; "" for nothing.
func (m moment) butFor() (text string) {
	a := m.account()
	if slices.ContainsFunc(a.Parts, func(p model.AccountPart) bool { return p.UpTo && p.Bytes >= a.Bytes/hardly }) {
		text += "; what is marked “up to” may be less"
	}
	if slices.ContainsFunc(m.v.meters, func(id string) bool { return m.v.off[id] > 0 || m.v.unknown[id] }) {
		text += "; figures below that are marked " + words.About + " or " + words.AtLeastMark + " are not"
	}
	return text
}

// howSure sums the certificate up in one line.
func (m moment) howSure() string {
	reasons := m.v.doubts()
	f, why := m.figure(), ""
	if f.Peak > m.at.figures[m.v.first()].Peak {
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
		return "exact: every change arrived, and every peak was computed twice, to the byte the same" + m.butFor()
	}
	text := reasons[0]
	if len(reasons) > 1 {
		text += fmt.Sprintf("; and %s, see the end", words.Plural(len(reasons)-1, "more reason"))
	}
	return text
}
