package attribution

import (
	"ipytracer/attribution/internal/audit"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// Auditor finds memory that stays behind, in the events of a session. It keeps each live block with the cell and the
// statement that allocated it, and of the windows only their figures: a session of millions of changes fits.
type Auditor struct {
	*Findings
}

// NewAuditor returns an Auditor that has seen nothing.
func NewAuditor() *Auditor {
	s := windows.NewState()
	a := audit.New(s)
	c := newCore(s, a, noChart{})
	return &Auditor{&Findings{core: c, audit: a}}
}

// Add takes in the next event.
func (a *Auditor) Add(e event.Event) { a.core.sequence.add(e) }

// Flush settles the events taken in so far, see [Tracker.Flush].
func (a *Auditor) Flush() { a.core.sequence.flush() }

// Finished returns the cells that closed since the last call, see [Tracker.Finished].
func (a *Auditor) Finished() []model.Window { return a.core.finished() }
