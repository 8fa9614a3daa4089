// Package text prints the report, the audit and the live lines for people, in a terminal. The choice, order and layout
// of the parts belong here; package words has the text beside figures, and package escape decides which characters may
// be shown.
package text

import (
	"fmt"
	"io"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/words"
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
	headlineView{v}.lead()
	v.figures()
	v.last()
	return v.Text(w, o.Size())
}

// full prints everything. For a long session that is much: each section is written before the next is made.
func (v *view) full(w io.Writer) error {
	for _, section := range []func(){
		headlineView{v}.lead, v.begin, headerView{v}.header, cellView{v}.allCells, cellView{v}.experiments,
		lineView{v}.statements, heapView{v}.allocations, heapView{v}.lines, heapView{v}.tensors,
		v.remains,
		gapView{v}.between, processView{v}.children, v.copied, processView{v}.processes,
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
	v.copied()
}

// copied writes what processes have copied since a fork.
func (v *view) copied() {
	if copied := words.Copied(v.r); copied != "" {
		v.Prose("", copied)
	}
}

// corrected is the line in front of a report whose first part differs from the printed one.
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

// early prints the sections that do not depend on the look at the processes' objects.
func (v *view) early() {
	if headline := (headlineView{v}); headline.hasHighest() {
		v.ofPeak = headline.leadHighest()
		headline.howSure()
	} else {
		endingView(headline).endings()
	}
	v.figures()
}

// rest prints the sections behind those of early.
func (v *view) rest() {
	if headline := (headlineView{v}); headline.hasHighest() {
		headline.Blank()
		headline.leadLeft(mostLines - v.ofPeak)
	} else {
		headline.leadIdle(true)
	}
	v.last()
}

// last prints the final sections, of a whole report and of its second part.
func (v *view) last() {
	heapView{v}.tensors()
	v.remains()
	processView{v}.processes()
	proofView{v}.footnotes()
	proofView{v}.shortCertificate()
}

// remains shows the memory of names and the resident memory at the end.
func (v *view) remains() {
	remains := Remains{v.Document, v.o.Full, v.r.Processes}
	remains.Variables(v.r.Variables, v.r.Names, v.r.ToFree)
	remains.Resident(v.r.Resident)
}

// Summary is the content of a report's first and last lines.
type Summary struct {
	// Answers are how processes ended, the highest moment, its parts, the remaining memory, the names to delete, and
	// how exact these figures are.
	Answers []doc.Answer
	// Doubts are the reasons why some figures are not exact or not proven. There are none if all figures are.
	Doubts []string
	// Unattributed are the reasons why stacks are not known in full. No figure depends on them.
	Unattributed []string
	// SummitID is the id of the cell with the highest moment; 0 for none.
	SummitID int
}

// Summarize returns the first and last lines of [Report]. It fails if by is a meter that the report does not have.
func Summarize(r *model.Report, by string) (*Summary, error) {
	v, err := newView(r, Options{By: by, Width: -1})
	if err != nil {
		return nil, err
	}
	headlineView{v}.lead()
	s := &Summary{Answers: v.Answers()}
	if (headlineView{v}).hasHighest() {
		s.SummitID = highestMoment(v).in.id
	}
	s.Doubts, s.Unattributed = v.doubts(), unattributed(&r.Certificate)
	return s, nil
}

// Headlines returns the meters with a column, the ranking one first.
func Headlines(r *model.Report) []string {
	ids, _ := headlines(r, r.Ranking(r.Nearest())) // the report has the meter that it ranks by
	return ids
}

// Devices returns the GPUs that a session used, each with its name and size if known: "GPU 0 NVIDIA H100 80GB HBM3,
// 79.65 GiB".
func Devices(r *model.Report) (devices []string) {
	for _, id := range r.AllMeters() {
		if number, ok := gpuOf(id); ok {
			if names := gpuNames(r, number, false); len(names) > 0 && names[0].Text != "" {
				devices = append(devices, fmt.Sprintf("GPU %d %s", number, names[0].Text))
			}
		}
	}
	return devices
}

// Remarks returns special facts of a window: its note, its refused requests, and its counters. Its status is not among
// them.
func Remarks(w *model.Window) (texts []string) {
	withoutStatus := *w
	withoutStatus.Status = model.OK
	for _, s := range append(remarks(withoutStatus), countersOf(w)...) {
		if s.Text != separator {
			texts = append(texts, s.Text)
		}
	}
	return texts
}

// Agreement returns, in words, how exact the figures of a meter are, and how many of its windows are proven. served is
// false if the report does not have the meter, compared if it has no proof for it.
func Agreement(m model.Meter, served bool, p model.Proof, compared bool) (figures, proven string) {
	return quality(m, served, p).Text, agreement(p, compared).Text
}

// Losses returns the reasons for which records were lost, in words.
func Losses(c *model.Certificate) string { return losses(c).Text }

// Ended describes how a process ended; "" if it ended by itself, or runs.
func Ended(p *model.Process) string {
	if !p.Ending.IsNotable(p.IPython) {
		return ""
	}
	var parts []string
	d := &doc.Document{}
	d.Ends(p.PID, "", p.Ending, "")
	for _, a := range d.Answers() {
		parts = append(parts, a.Text)
	}
	return strings.Join(parts, "; ")
}
