package text

import (
	"fmt"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/model"
)

// Parts of the text report for other printers, in the same words. All of it is escaped.

// Summary is the content of a report's first and last lines.
type Summary struct {
	// Answers are the highest moment, its parts, its remaining memory, the names to delete, and the certainty of all
	// that. Before these come the endings of processes that did not end by themselves.
	Answers []doc.Answer
	// Doubts are the reasons why not everything is exact and proven; none if it is.
	Doubts []string
	// Unattributed are the reasons why stacks are not known in full. No figure depends on them.
	Unattributed []string
	// SummitID is the cell with the highest moment; 0 for none.
	SummitID int
}

// Summarize returns the first and last lines of [Report]. It fails if by is a meter that the report does not have.
func Summarize(r *model.Report, by string) (*Summary, error) {
	v, err := newView(r, Options{By: by})
	if err != nil {
		return nil, err
	}
	headlineView{v}.lead()
	s := &Summary{Answers: v.Answers()}
	if len(v.meters) > 0 && len(v.ranked) > 0 {
		s.SummitID = highestMoment(v).in.id
	}
	s.Doubts, s.Unattributed = v.doubts(), unattributed(&r.Certificate)
	return s, nil
}

// Headlines returns the meters with a column, the ranking one first.
func Headlines(r *model.Report) []string {
	ids, _ := headlines(r, r.Ranking(r.Nearest())) // fails for a name only
	return ids
}

// Devices returns the GPUs that a session used, each with its name and size if known: "GPU 0 NVIDIA H100 80GB HBM3,
// 79.65 GiB".
func Devices(r *model.Report) (all []string) {
	for _, id := range r.AllMeters() {
		if number, ok := gpuOf(id); ok {
			if names := gpuNames(r, number, false); len(names) > 0 && names[0].Text != "" {
				all = append(all, fmt.Sprintf("GPU %d %s", number, names[0].Text))
			}
		}
	}
	return all
}

// Remarks returns special facts of a window: its note, and its refused requests. Its status is not among them.
func Remarks(w *model.Window) (all []string) {
	bare := *w
	bare.Status = model.OK
	for _, s := range append(remarks(bare), countersOf(w)...) {
		if s.Text != " · " {
			all = append(all, s.Text)
		}
	}
	return all
}

// Agreement returns the number of proven windows of a meter, and the quality of its figures.
func Agreement(m model.Meter, served bool, p model.Proof, compared bool) (figures, proven string) {
	return quality(m, served, p).Text, agreement(p, compared).Text
}

// Losses returns the reasons for which records were lost, in words.
func Losses(c *model.Certificate) string {
	return losses(c).Text
}

// Ended describes how a process ended; "" if it ended by itself, or runs.
func Ended(p *model.Process) string {
	if !Notable(p.Ending, p.IPython) {
		return ""
	}
	var parts []string
	d := &doc.Document{}
	Ends(d, p.PID, "", p.Ending, "")
	for _, a := range d.Answers() {
		parts = append(parts, a.Text)
	}
	return strings.Join(parts, "; ")
}
