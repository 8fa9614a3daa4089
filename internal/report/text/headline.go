package text

import (
	"cmp"
	"fmt"
	"slices"

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
	in := "" // of several kernels
	if kernel := words.KernelOf(v.r.Processes, rest.pid); kernel != "" {
		in = "in " + kernel + ": "
	}
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

// whereOf returns " in In[3]", or " after In[3]": the place of a meter's peak; "" if that is not known.
func (v headlineView) whereOf(n *model.Nearness) string {
	s := v.near.summits[n.Meter]
	switch {
	// it is the session's peak, in which another process may have been higher
	case words.Bytes(s.peak) != words.Bytes(n.Peak):
		return ""
	case s.gap != nil:
		return " " + v.shortGap(*s.gap)
	case s.cell != nil:
		return " in " + v.shortName(s.cell)
	}
	return ""
}

// otherHighest writes the highest moments of the other kernels.
func (v headlineView) otherHighest() {
	others := v.otherSummits()
	for _, i := range others[:min(len(others), mostSummits)] {
		v.Answer("highest", moment{v.view, &v.ranked[i], &v.ranked[risenIn(v.ranked, i)]}.where())
	}
	if rest := others[min(len(others), mostSummits):]; len(rest) > 0 {
		v.Answer("",
			fmt.Sprintf("%s, none of which had more than %s", words.Plural(len(rest), "more kernel"),
				words.Bytes(v.ranked[rest[0]].peak)))
	}
}

// In a session without a cell there is no highest moment to explain. Its first lines say what each process has, what
// holds it, and what to type.

// leadIdle writes these lines, with an empty one behind them, or in front of them if the page has begun.
func (v headlineView) leadIdle(begun bool) {
	all := v.idle()
	if len(all) > 0 && begun {
		v.Blank()
	}
	for _, o := range all {
		v.leadRest(o)
	}
	if len(all) > 0 && !begun {
		v.Blank()
	}
}

// idle returns the memory of the living processes of a session without a cell, the most first. It is empty for every
// other session.
func (v headlineView) idle() (all []*leftover) {
	if v.leads() || len(v.meters) == 0 {
		return nil
	}
	for _, p := range v.kernels() {
		if o := leftoverOf(v.view, p.PID); !p.Ended && o.end > 0 {
			all = append(all, o)
		}
	}
	slices.SortStableFunc(all, func(a, b *leftover) int { return cmp.Compare(b.end, a.end) })
	return all[:min(len(all), mostSummits)]
}
