package text

import (
	"io"

	"ipytracer/model"
)

// corrected is in front of a report whose first part is not what was printed ahead of it.
const corrected = "Figures above have changed since they were printed. The report, as it is now:"

// First returns the first part of the report for people: what is known before anybody has looked at what the processes have in the end. It has the
// same sections as [Report] without Full, in the same order, but for what is left of the highest moment's memory and what to do about it, which [Rest]
// begins with. It fails as Report does.
func First(r *model.Report, o Options) (string, error) {
	v, err := newView(r, o)
	if err != nil {
		return "", err
	}
	parts{v}.first()
	return v.b.String(), nil
}

// Rest writes what comes after the first part, which was printed before. Where that would be another one by now, it says so and writes the whole report
// again: what stands on the screen is never left wrong. It fails as [Report] does.
func Rest(w io.Writer, r *model.Report, o Options, first string) error {
	v, err := newView(r, o)
	if err != nil {
		return err
	}
	parts{v}.first()
	asPrinted := v.b.String() == first
	v.b.Reset()
	if asPrinted {
		parts{v}.rest()
		return v.flush(w)
	}
	v.title(corrected)
	v.blank()
	if err := v.flush(w); err != nil {
		return err
	}
	return Report(w, r, o)
}

// parts are what a report is printed in.
type parts struct{ v *view }

// first has what does not change any more.
func (p parts) first() {
	endingView{p.v}.endings()
	if lead := (headlineView{p.v}); lead.leads() {
		lead.leadHighest()
		p.v.answer("how sure", highestMoment(p.v).howSure())
	}
	p.v.figures()
}

// rest has what the look at the processes' objects has found, and what may have come about meanwhile.
func (p parts) rest() {
	if lead := (headlineView{p.v}); lead.leads() {
		lead.blank()
		lead.leadLeft()
	}
	p.last()
}

// last has the sections that a report ends with, in one part or in two.
func (p parts) last() {
	heapView{p.v}.tensors()
	remains := remainsOf(p.v)
	remains.variables(p.v.r.Variables, p.v.r.Names, p.v.r.ToFree)
	remains.resident(p.v.r.Resident)
	processView{p.v}.processes()
	proofView{p.v}.footnotes()
	proofView{p.v}.shortCertificate()
}
