package text

import (
	"io"
	"strings"

	"ipytracer/model"
)

// corrected is the line in front of a report with another first part than the printed one.
const corrected = "Figures above have changed since they were printed. The report, as it is now:"

// First returns the first part of the report for people: everything that is known before the look at the objects of the
// processes. It has the same sections as [Report] without Full, in the same order, except for the remaining memory of
// the highest moment and the advice about it, with which [Rest] begins. It fails as Report does.
func First(r *model.Report, o Options) (string, error) {
	v, err := newView(r, o)
	if err != nil {
		return "", err
	}
	return v.firstPart()
}

func (v *view) firstPart() (string, error) {
	parts{v}.first()
	var b strings.Builder
	err := v.Text(&b, v.o.Size())
	return b.String(), err
}

// Rest writes the part after the first part, which was printed before. If the first part would be different by now, it
// says so and writes the whole report again: the screen is never left wrong. It fails as [Report] does.
func Rest(w io.Writer, r *model.Report, o Options, first string) error {
	v, err := newView(r, o)
	if err != nil {
		return err
	}
	now, err := v.firstPart()
	if err != nil {
		return err
	}
	if now == first {
		parts{v}.rest()
		return v.Text(w, o.Size())
	}
	v.Heading(corrected)
	v.Blank()
	if err := v.Text(w, o.Size()); err != nil {
		return err
	}
	return Report(w, r, o)
}

// parts are the pieces in which a report is printed.
type parts struct{ v *view }

// first prints the sections that do not change any more.
func (p parts) first() {
	endingView{p.v}.endings()
	if lead := (headlineView{p.v}); lead.leads() {
		lead.leadHighest()
		p.v.Answer("how sure", highestMoment(p.v).howSure())
	}
	p.v.figures()
}

// rest prints the results of the look at the processes' objects, and later changes.
func (p parts) rest() {
	if lead := (headlineView{p.v}); lead.leads() {
		lead.Blank()
		lead.leadLeft()
	} else {
		lead.leadIdle(true)
	}
	p.last()
}

// last prints the final sections, in one part or in two.
func (p parts) last() {
	heapView{p.v}.tensors()
	remains := remainsOf(p.v)
	remains.Variables(p.v.r.Variables, p.v.r.Names, p.v.r.ToFree)
	remains.Resident(p.v.r.Resident)
	processView{p.v}.processes()
	proofView{p.v}.footnotes()
	proofView{p.v}.shortCertificate()
}
