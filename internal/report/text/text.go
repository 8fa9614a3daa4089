// Package text prints the report, the audit and the live lines for people, in a terminal. The choice, order and layout
// of the parts belong here; package words has the text beside figures, and package escape decides which characters may
// be shown.
package text

import (
	"io"
	"strings"

	"ipytracer/model"
)

// Report writes the report for people. It fails if o.By is a meter the report does not have, or with w's error.
func Report(w io.Writer, r *model.Report, o Options) error {
	v, err := newView(r, o)
	if err != nil {
		return err
	}
	if o.Full {
		return v.full(w)
	}
	v.short()
	return v.Text(w, o.Size())
}

// full prints everything. For a long session that is much: each section is written before the next is made.
func (v *view) full(w io.Writer) error {
	remains := remainsOf(v)
	for _, section := range []func(){
		headlineView{v}.lead, v.begin, headerView{v}.header, cellView{v}.allCells, cellView{v}.experiments,
		lineView{v}.statements, heapView{v}.allocations, heapView{v}.lines, heapView{v}.tensors,
		func() { remains.Variables(v.r.Variables, v.r.Names, v.r.ToFree) },
		func() { remains.Resident(v.r.Resident) },
		gapView{v}.between, processView{v}.children, processView{v}.processes,
		proofView{v}.footnotes, proofView{v}.certificate,
	} {
		section()
		if err := v.Text(w, v.o.Size()); err != nil {
			return err
		}
	}
	return nil
}

// begin separates the first lines from the sections.
func (v *view) begin() {
	if len(v.ranked) > 0 {
		v.Blank()
	}
}

// short writes the report that fits on a screen or two.
func (v *view) short() {
	headlineView{v}.lead()
	v.figures()
	v.last()
}

// figures writes the sections about cells. They do not change once the session is over.
func (v *view) figures() {
	headerView{v}.about()
	if len(v.cells) == 0 {
		v.noCells()
	} else {
		rankView{v}.ranking()
	}
	cellView{v}.experiments()
	lineView{v}.heaviestLines()
	heapView{v}.whoAllocatedShort()
	processView{v}.childrenShort()
}

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
	v.early()
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
		v.rest()
		return v.Text(w, o.Size())
	}
	v.Heading(corrected)
	v.Blank()
	if err := v.Text(w, o.Size()); err != nil {
		return err
	}
	return Report(w, r, o)
}

// early prints the sections that do not change any more.
func (v *view) early() {
	endingView{v}.endings()
	if lead := (headlineView{v}); lead.leads() {
		lead.leadHighest()
		v.Answer("how sure", highestMoment(v).howSure())
	}
	v.figures()
}

// rest prints the results of the look at the processes' objects, and later changes.
func (v *view) rest() {
	if lead := (headlineView{v}); lead.leads() {
		lead.Blank()
		lead.leadLeft()
	} else {
		lead.leadIdle(true)
	}
	v.last()
}

// last prints the final sections, in one part or in two.
func (v *view) last() {
	heapView{v}.tensors()
	remains := remainsOf(v)
	remains.Variables(v.r.Variables, v.r.Names, v.r.ToFree)
	remains.Resident(v.r.Resident)
	processView{v}.processes()
	proofView{v}.footnotes()
	proofView{v}.shortCertificate()
}
