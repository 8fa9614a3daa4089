package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"ipytracer/model"
	"ipytracer/model/words"
	"ipytracer/report/escape"
)

// What follows is for other printers, so that they say what the text does, in the same words. All of it is escaped.

// Answer is one of the first lines of a report, such as "highest" and what was.
type Answer struct{ Question, Text string }

// Summary is what a report says in its first and in its last lines.
type Summary struct {
	// Answers are the highest moment, what it was made of, what is left of it, what to delete, how sure that is; and before these, how a
	// process ended that did not end by itself.
	Answers []Answer
	// Doubts are the reasons for which not everything is exact and proven; none where it is.
	Doubts []string
	// Unattributed are the reasons for which who allocated is not known in full. No figure depends on them.
	Unattributed []string
	// SummitID is the cell in which the highest moment is; 0 where it is in none.
	SummitID int
}

// Summarize says what [Report] says of a session in its first and its last lines. It fails if by is a meter that the report does not have.
func Summarize(r *model.Report, by string) (*Summary, error) {
	v, err := newView(r, Options{Width: -1, By: by})
	if err != nil {
		return nil, err
	}
	s := &Summary{}
	v.answers = func(name, text string) { s.Answers = append(s.Answers, Answer{name, text}) }
	v.to = io.Discard
	headlineView{v}.lead()
	if len(v.meters) > 0 && len(v.ranked) > 0 {
		s.SummitID = highestMoment(v).in.id
	}
	s.Doubts, s.Unattributed = v.doubts(), unattributed(&r.Certificate)
	return s, nil
}

// Headlines are the meters that have a column, the one that ranks first.
func Headlines(r *model.Report) []string {
	ids, _ := headlines(r, r.Ranking(r.Nearest())) // fails for a name only
	return ids
}

// Devices are the GPUs that a session used, each with its name and size where these are known: "GPU 0 NVIDIA H100 80GB HBM3, 79.65 GiB".
func Devices(r *model.Report) (all []string) {
	for _, id := range r.AllMeters() {
		if number, ok := gpuOf(id); ok {
			if names := gpuNames(r, number, false); len(names) > 0 && names[0].text != "" {
				all = append(all, fmt.Sprintf("GPU %d %s", number, names[0].text))
			}
		}
	}
	return all
}

// Remarks are what is special of a window: its note, what was refused in it. Its status is not among them.
func Remarks(w *model.Window) (all []string) {
	bare := *w
	bare.Status = model.OK
	for _, s := range append(remarks(bare), countersOf(w)...) {
		if s.text != " · " {
			all = append(all, s.text)
		}
	}
	return all
}

// VerdictTitle is a kind of verdict in words.
func VerdictTitle(kind string) string { return cmp.Or(titles[kind], escape.Bounded(kind, maxName)) }

// VerdictRuns names the cells of a verdict.
func VerdictRuns(v *model.Verdict) string { return runs(v) + words.OfKernel(v.Kernel) }

// AllClear is what an audit without a verdict says.
func AllClear(a *model.Audit) string { return allClear(a) }

// NotJudged is what an audit could not judge, why, and what to do about it.
func NotJudged(n *model.NotJudged) string {
	return whatIs(n) + ": " + escape.Bounded(n.Why, maxProse) + "; try: " + escape.Bounded(n.Advice, maxProse)
}

// ResidentKind is a kind of resident memory in words.
func ResidentKind(kind string) string {
	return cmp.Or(residentKinds[kind], escape.Bounded(kind, maxName))
}

// Shape is a variable's shape as people write it: 300 × 400 float64, or a length.
func Shape(x model.Variable) string { return shapeOf(x) }

// Agreement says how many windows of a meter are proven, and what a meter's figures are.
func Agreement(m model.Meter, served bool, p model.Proof, compared bool) (figures, proven string) {
	return quality(m, served, p).text, agreement(p, compared).text
}

// IsLibrary says whether a file is not the user's own.
func IsLibrary(file string) bool { return isLibrary(file) }

// Losses are the reasons for which records were lost, in words.
func Losses(c *model.Certificate) string {
	return losses(c).text
}

// Ended is how a process ended, in words; "" where it ended by itself, or runs.
func Ended(p *model.Process) string {
	if !notable(p.Ending, p.IPython) {
		return ""
	}
	var parts []string
	to := Options{}.printer()
	to.answers = func(_, text string) { parts = append(parts, text) }
	ended(to, p.PID, "", p.Ending, "")
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}
