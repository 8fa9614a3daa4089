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
// limit, its parts, the part that is still there, the names to delete, and how exact these figures are.
func (v headlineView) lead() {
	endingView(v).endings()
	if !v.hasHighest() {
		v.leadIdle(false)
		return
	}
	v.leadHighest()
	v.leadLeft()
	v.Answer("how sure", highestMoment(v.view).howSure())
}

// hasHighest reports whether the session has a highest moment: a cell ran, and a meter ranks.
func (v headlineView) hasHighest() bool { return len(v.meters) > 0 && len(v.ranked) > 0 }

// leadHighest writes the part about the highest moment.
func (v headlineView) leadHighest() {
	highest := highestMoment(v.view)
	otherMeters := func(name string, areNearer bool) {
		if text := v.near.beside(v.first(), areNearer, v.o.By != "", highest.figure(), v.whereOf); text != "" {
			v.Answer(name, text)
		}
	}
	otherMeters("nearest", true)
	v.Answer("highest", highest.where())
	v.otherHighest()
	otherMeters("also", false)
	v.container()
	v.Answer("made by", highest.madeBy())
}

// leadLeft writes the part about the remaining memory, after a look at its holders.
func (v headlineView) leadLeft() {
	v.leadRest(leftoverOf(v.view, highestMoment(v.view).in.pid))
}

// leadRest writes the lines about the remaining memory of a process.
func (v headlineView) leadRest(rest *leftover) {
	prefix := "" // with several kernels, the one of this process
	if kernel := words.KernelOf(v.r.Processes, rest.pid); kernel != "" {
		prefix = "in " + kernel + ": "
	}
	v.Answer("still there", prefix+rest.stillThere())
	switch {
	case !rest.isWorthFreeing() || !rest.takesCode():
		// there is nothing to type
	case rest.idle && len(rest.named()) == 0 && rest.freeing() == "":
		v.Answer("to free it", prefix+rest.nothingNamed())
	default:
		v.Answer("to free it", prefix+rest.toFree(), rest.code()...)
	}
	if text := rest.keptByMalloc(); text != "" {
		v.Answer("malloc keeps", prefix+text, model.MallocTrim)
	}
}

// whereOf returns " in In[3]", or " after In[3]": the place of a meter's peak; "" if that is not known.
func (v headlineView) whereOf(n *model.Nearness) string {
	s := v.near.summits[n.Meter]
	switch {
	// the session's peak differs from the cells': another process had it
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
	shown := min(len(others), mostSummits)
	for _, i := range others[:shown] {
		highest := moment{v.view, &v.ranked[i], &v.ranked[risenIn(v.ranked, i)]}
		v.Answer("highest", highest.where())
	}
	if rest := others[shown:]; len(rest) > 0 {
		v.Answer("",
			fmt.Sprintf("%s, none of which had more than %s", words.Plural(len(rest), "more kernel"),
				words.Bytes(v.ranked[rest[0]].peak)))
	}
}

// leadIdle writes the first lines of a session without a cell, which has no highest moment: what each process has, what
// holds it, and what to type. An empty line follows them; if the page has begun, it precedes them.
func (v headlineView) leadIdle(begun bool) {
	leftovers := v.withoutCells()
	if len(leftovers) == 0 {
		return
	}
	if begun {
		v.Blank()
	}
	for _, o := range leftovers {
		v.leadRest(o)
	}
	if !begun {
		v.Blank()
	}
}

// withoutCells returns the memory of the living processes of a session without a cell, the largest first, at most
// mostSummits of them. It returns nil if a cell ran.
func (v headlineView) withoutCells() (leftovers []*leftover) {
	if v.hasHighest() || len(v.meters) == 0 {
		return nil
	}
	for _, p := range v.kernels() {
		if o := leftoverOf(v.view, p.PID); !p.Ended && o.end > 0 {
			leftovers = append(leftovers, o)
		}
	}
	slices.SortStableFunc(leftovers, func(a, b *leftover) int { return cmp.Compare(b.end, a.end) })
	return leftovers[:min(len(leftovers), mostSummits)]
}
