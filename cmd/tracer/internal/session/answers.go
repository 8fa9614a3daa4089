package session

import (
	"strings"
	"sync/atomic"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/output"
	"ipytracer/event"
	"ipytracer/internal/advice"
	"ipytracer/internal/companion"
	"ipytracer/internal/freeing"
	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/report/text"
	"ipytracer/internal/words"
	"ipytracer/model"
	"ipytracer/report"
	"ipytracer/tracer"
)

// answers has the answers to a notebook's questions about a process's objects: names, and memory that stays behind. The
// session is audited from its beginning, because a request comes too late to begin.
type answers struct {
	hub      *companion.Hub
	running  func() *tracer.Session // nil before it runs
	noSource bool
	reports  *attribution.Tracker
	findings atomic.Pointer[attribution.Findings] // of the audit, nil once it was given up
	needed   bool                                 // the report needs the audit, too
	cells    int
}

// Time for which an audit goes on while no notebook has a line. Its memory is about a hundred bytes for each block.
const (
	cellsUnasked  = 100
	blocksUnasked = 100_000
)

// add gives up an audit that no notebook has asked for, once it has grown.
func (a *answers) add(e event.Event) {
	findings := a.findings.Load()
	if findings == nil || a.needed {
		return
	}
	if b, ok := e.(*event.Boundary); ok && b.Kind == event.CellOpen {
		a.cells++
		if (a.cells > cellsUnasked || findings.Size() > blocksUnasked) && !a.hub.HasLine() {
			a.giveUp()
		}
	}
}

// giveUp gives up the audit unless the report needs it: at a session's end its memory is for the last look. Any
// goroutine may call it.
func (a *answers) giveUp() {
	if !a.needed {
		a.drop()
	}
}

func (a *answers) drop() {
	a.findings.Store(nil)
	a.reports.EndAudit()
}

// looker makes the looks that the companion requests.
type looker struct{ *answers }

var _ companion.Looker = looker{}

// FindVariables begins a look at the names of a process.
func (a looker) FindVariables(pid int, watch []event.Piece) bool {
	running := a.running()
	return running != nil && running.Looks.FindVariablesOf(pid, watch)
}

// ToFree returns the code that frees memory found by a look, and the largest objects that go with each entry.
func (a looker) ToFree(e *event.Looked) ([]model.Freeing, [][]event.Piece) {
	return ToFree(attribution.WithCells(a.reports, e.Variables))
}

func ToFree(e *event.Variables) (free []model.Freeing, pieces [][]event.Piece) {
	for _, p := range freeing.Promises(e) {
		free, pieces = append(free, p.Freeing), append(pieces, p.Pieces)
	}
	return free, pieces
}

// FindHolders begins a look at the holders of a process's blocks.
func (a looker) FindHolders(pid int) bool {
	running := a.running()
	if running == nil {
		return false
	}
	var blocks []event.Block
	// If the audit was given up meanwhile, it has no blocks: the look finds nothing, and ends.
	if findings := a.findings.Load(); findings != nil {
		blocks = findings.Blocks(pid)
	}
	return running.Looks.FindHoldersOf(pid, blocks)
}

// Named returns the names that a look has found.
func (a looker) Named(e *event.Variables) ([]model.Variable, model.Names) {
	all, names := a.reports.Named(e)
	if a.noSource {
		all = report.VariablesWithoutSource(all)
	}
	return all, names
}

// Audited returns the memory that stays behind in a process.
func (a looker) Audited(pid int, found []*event.Holders) *model.Audit {
	findings := a.findings.Load()
	if findings == nil {
		return nil
	}
	out := findings.AuditOne(pid, found, output.LeastLeak)
	if a.noSource {
		out = report.AuditWithoutSource(out)
	}
	return out
}

// Advised reads the session so far, and returns the function that makes the advice for a process as text. It reads at
// most adviceRoom sites, because the session waits meanwhile.
func (a looker) Advised(pid int, found *event.Variables) func() string {
	read := advice.Read(a.reports.SoFar(found), advice.Options{PID: pid, Room: adviceRoom})
	return func() string {
		out := read.Advice()
		if a.noSource {
			out = report.AdviceWithoutSource(out)
		}
		var b strings.Builder
		_ = sheet.Advice(out, sheet.Options{}).Text(&b, doc.Size{Width: adviceWidth}) // a builder takes everything
		return b.String()
	}
}

// adviceWidth is the width of advice in a notebook, in columns, and adviceRoom the most sites of all its moments.
const (
	adviceWidth = 100
	adviceRoom  = 1 << 18
)

// WhyNoAudit returns the reason why there is no audit.
func (a looker) WhyNoAudit() string {
	if a.findings.Load() != nil {
		return ""
	}
	return "no notebook had loaded ipytracer for a long time, so this session keeps no audit any more: attach anew, " +
		"or audit from outside ('sudo tracer audit PID')"
}

// spoken returns the texts of reports for the companion.
func spoken() companion.Words {
	return companion.Words{
		Shape: text.Shape, Title: words.VerdictTitle, Runs: runsOf, NotJudged: sheet.NotJudged,
		AllClear: sheet.AllClear,
	}
}

func runsOf(v *model.Verdict) string {
	if len(v.Executions) == 0 {
		return ""
	}
	return words.VerdictCells(v)
}
