package attribution

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// shell is a script of cells in a front end, with the counts of IPython in the end.
type shell struct {
	*script
	said []event.Shell
}

func newShell() *shell { return &shell{script: newScript()} }

// cell runs a cell to its end, with a statement.
func (s *shell) cell(number uint64) {
	s.openCell(number, true)
	s.source(number, "x = 1")
	s.statement(number)
	s.over(number)
}

// bare runs a cell without statements.
func (s *shell) bare(text string) {
	s.openCell(1, true)
	s.source(1, text)
	s.over(1)
}

func (s *shell) over(number uint64) {
	s.boundary(event.CellResult, main, func(b *event.Boundary) { b.Cell, b.Outcome = number, event.OutcomeOK })
	s.closeCell(number, event.OutcomeOK)
}

// atResult runs a cell with an end that no probe saw, so that it ended at its result.
func (s *shell) atResult(number uint64) {
	s.openCell(number, true)
	s.source(number, "x = 1")
	s.statement(number)
	s.boundary(event.CellResult, main, func(b *event.Boundary) { b.Cell, b.Outcome = number, event.OutcomeOK })
	s.closeCell(number, event.OutcomeMissed)
}

func (s *shell) source(number uint64, text string) {
	s.events = append(s.events, &event.CellSource{Cell: number, PID: main, Text: text})
}

func (s *shell) statement(number uint64) {
	s.boundary(event.StatementOpen, main, func(b *event.Boundary) { b.Cell, b.Line = number, 1 })
	s.boundary(event.StatementClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = number, event.OutcomeOK })
}

// says adds the counts that IPython has just before the detach.
func (s *shell) says(inputs int64, idle bool) {
	s.said = append(s.said, event.Shell{PID: main, Time: s.time + 1, Inputs: inputs, Idle: idle})
}

func (s *shell) report(t *testing.T) *model.Report {
	t.Helper()
	s.boundary(event.Detached, main)
	tracker := New()
	for _, e := range append(s.events, &event.Finish{Reason: "interrupted", Shells: s.said}) {
		tracker.Add(e)
	}
	return tracker.Report()
}

// fittings are sessions with a part that was not seen, or none.
var fittings = []struct {
	name  string
	run   func(*shell)
	doubt string // part of a problem
	note  string // part of a cell's note
}{
	{"all", func(s *shell) { s.cell(1); s.cell(2); s.says(s.inputs, true) }, "", ""},
	{"between two", func(s *shell) { s.cell(1); s.inputs += 2; s.cell(2); s.says(s.inputs, true) },
		"In[2] to In[3]", "In[2] to In[3] ran in it"},
	{"at the end", func(s *shell) { s.cell(1); s.says(s.inputs+1, true) }, "In[2]", "In[2] ran in it"},
	{"about to begin", func(s *shell) { s.cell(1); s.says(s.inputs+1, false) }, "", ""},
	{"two, one about to begin", func(s *shell) { s.cell(1); s.says(s.inputs+2, false) }, "In[2], ", ""},
	{"emptied", func(s *shell) { s.cell(1); s.cell(2); s.inputs = 1; s.cell(3); s.says(2, true) }, "", ""},
	{"runs on", func(s *shell) { s.cell(1); s.openCell(2, true); s.says(s.inputs, false) }, "",
		words.StillRuns.String()},
	{"open at the prompt", func(s *shell) { s.cell(1); s.openCell(2, true); s.says(s.inputs, true) },
		words.EndProbes.String(), "its end was not seen"},
	{"swallowed", func(s *shell) {
		s.cell(1)
		s.openCell(2, true)
		s.inputs += 3
		s.closeCell(2, event.OutcomeMissed)
		s.cell(3)
		s.says(s.inputs, true)
	}, words.EndProbes.String(), "In[3] to In[5] ran in it without being seen"},
	{"ends as the next begins", func(s *shell) { s.cell(1); s.time -= 99_000; s.cell(2); s.says(s.inputs, true) },
		words.EndProbes.String(), "its end was not seen"},
	// the request of a late session's first cell may have begun before it
	{"the first ends at its result", func(s *shell) { s.atResult(1); s.cell(2); s.says(s.inputs, true) }, "", ""},
	{"the second ends at its result", func(s *shell) { s.cell(1); s.atResult(2); s.says(s.inputs, true) },
		words.EndProbes.String(), words.NoHooksEnd.String()},
	{"all end at their results", func(s *shell) { s.atResult(1); s.atResult(2); s.says(s.inputs, true) },
		words.EndProbes.String(), words.NoHooksEnd.String()},
	{"no statements", func(s *shell) { s.bare("# a\nx = 1") }, words.StatementProbes.String(), ""},
	{"a comment", func(s *shell) { s.bare("# a\n\n  # b") }, "", ""},
	{"statements stepped down", func(s *shell) {
		s.boundary(event.MeterShed, main, func(b *event.Boundary) {
			b.Group = event.Statements
		})
		s.bare("x = 1")
	}, "", ""},
}

// TestWindowsFitWhatIPythonSays checks cells in In without a window, a front end that waits while a cell is open, and
// cells with missing parts: the certificate is not complete and names the probes. Where everything fits it has no
// problem.
func TestWindowsFitWhatIPythonSays(t *testing.T) {
	for _, c := range fittings {
		t.Run(c.name, func(t *testing.T) {
			s := newShell()
			c.run(s)
			r := s.report(t)
			p := r.Certificate.Problems
			if r.Certificate.Complete != (c.doubt == "" && c.name != "statements stepped down") ||
				(len(p) == 0) != (c.doubt == "") || !strings.Contains(strings.Join(p, "; "), c.doubt) {
				t.Errorf("complete %v, problems %q, want %q", r.Certificate.Complete, p, c.doubt)
			}
			noted := slices.ContainsFunc(r.Windows, func(w model.Window) bool {
				return w.Kind == model.Cell && strings.Contains(w.Note, c.note)
			})
			for _, b := range r.Between {
				noted = noted || strings.Contains(b.Note, c.note)
			}
			if c.note != "" && !noted {
				t.Errorf("no note has %q", c.note)
			}
		})
	}
}

// TestResultsAreSeen checks that a front end's cell that awaits nothing has a result before it ends.
func TestResultsAreSeen(t *testing.T) {
	for source, doubted := range map[string]bool{"x = 1": true, "await f()": false, "async with f(): pass": false} {
		s := newShell()
		s.openCell(1, true)
		s.source(1, source)
		s.statement(1)
		s.closeCell(1, event.OutcomeOK)
		s.events[0].(*event.Start).Processes[0].Frontend = "ipykernel"
		if r := s.report(t); r.Certificate.Complete == doubted {
			t.Errorf("%s: complete %v, problems %q", source, r.Certificate.Complete, r.Certificate.Problems)
		}
	}
}

// TestFrontEndsThatTell checks that a cell ends at its result if its front end did not report its end; that is a
// problem only if the front end shows that it waits.
func TestFrontEndsThatTell(t *testing.T) {
	for _, tells := range []bool{true, false} {
		s := newShell()
		s.cell(1)
		s.openCell(2, true)
		s.source(2, "x = 1")
		s.statement(2)
		s.boundary(event.CellResult, main, func(b *event.Boundary) { b.Cell, b.Outcome = 2, event.OutcomeOK })
		s.closeCell(2, event.OutcomeMissed)
		s.says(s.inputs, tells)
		r := s.report(t)
		expect(t, "complete", r.Certificate.Complete, !tells)
		expect(t, "problems", len(r.Certificate.Problems) > 0, tells)
		expect(t, "note", nth(t, r, model.Cell, 1).Note, words.NoHooksEnd.String())
	}
}
