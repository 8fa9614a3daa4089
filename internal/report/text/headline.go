package text

import (
	"cmp"
	"fmt"
	"slices"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// headlineView writes the first lines of a report.
type headlineView struct{ *view }

// lead answers in a few lines the questions of most users: the highest moment of the memory that came nearest to its
// limit, its parts, the part that is still there, the names to delete, and how exact these figures are.
func (v headlineView) lead() {
	if !v.hasHighest() {
		endingView(v).endings()
		v.leadIdle(false)
		return
	}
	taken := v.leadHighest()
	v.leadLeft(mostLines - taken)
	v.howSure()
}

// The most lines of a terminal that the first lines take, without Full.
const (
	mostLines    = 12
	wantedOfPeak = 5 // of those about the highest moment
	mostOfPeak   = 6
	mostIfEnded  = 8 // the same if a process ended: little is then to say about what is left
	mostOfTrust  = 2 // of those about how sure that is, unless it is exact
)

// fit shortens the answers behind the first from blocks of the document and returns how many lines they take, see
// [doc.Document.FitAnswers].
func (v *view) fit(from, wanted, most int) int {
	if v.o.Full {
		return 0
	}
	return v.FitAnswers(v.o.Size(), from, wanted, most)
}

// hasHighest reports whether the session has a highest moment: a cell ran, and a meter ranks.
func (v headlineView) hasHighest() bool { return len(v.meters) > 0 && len(v.ranked) > 0 }

// leadHighest writes how processes ended, and the part about the highest moment. It returns how many lines that takes,
// with those about how sure it is.
func (v headlineView) leadHighest() (taken int) {
	begin, most := v.Len(), mostOfPeak
	if endingView(v).endings() {
		most = mostIfEnded
	}
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
	v.AnswerIn("made by", highest.madeBy()...)
	taken = v.fit(begin, wantedOfPeak, most) + 1
	if len(highest.howSure()) == 1 {
		return taken + mostOfTrust - 1
	}
	return taken
}

// howSure writes how exact the session is, in one line if it is exact.
func (v headlineView) howSure() {
	begin, forms, most := v.Len(), highestMoment(v.view).howSure(), 1
	if len(forms) == 1 {
		most = mostOfTrust
	}
	v.AnswerIn("how sure", forms...)
	v.fit(begin, most, most)
}

// leadLeft writes the part about the remaining memory, after a look at its holders, in at most so many lines.
func (v headlineView) leadLeft(most int) {
	begin := v.Len()
	v.leadRest(leftoverOf(v.view, highestMoment(v.view).in.pid))
	v.fit(begin, most, most)
}

// leadRest writes the lines about the remaining memory of a process.
func (v headlineView) leadRest(rest *leftover) {
	prefix := "" // with several kernels, the one of this process
	if kernel := words.KernelOf(v.r.Processes, rest.pid); kernel != "" {
		prefix = "in " + kernel + ": "
	}
	v.AnswerIn("still there", rest.stillThere(prefix)...)
	switch {
	case !rest.isWorthFreeing() || !rest.takesCode():
		// there is nothing to type
	case rest.idle && len(rest.named()) == 0 && rest.freeing(1) == "":
		v.Answer("to free it", prefix+rest.nothingNamed())
	default:
		var forms []doc.Form
		for most := mostEntries; most > 0; most-- {
			forms = append(forms, doc.Form{Text: prefix + rest.toFree(most), Code: rest.code()})
		}
		forms = append(forms, doc.Form{Text: prefix + rest.toFree(0)})
		v.AnswerIn("to free it", forms...)
	}
	if forms := rest.keptByMalloc(prefix); forms != nil {
		v.AnswerIn("malloc keeps", forms...)
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
	from := v.Len()
	for _, o := range leftovers {
		v.leadRest(o)
	}
	v.fit(from, mostLines, mostLines)
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
