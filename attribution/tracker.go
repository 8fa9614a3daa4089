package attribution

import (
	"ipytracer/attribution/internal/activity"
	"ipytracer/attribution/internal/audit"
	"ipytracer/attribution/internal/blocks"
	"ipytracer/attribution/internal/timeline"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// Tracker consumes events in the order of their Source. The zero value is not usable, see [New].
type Tracker struct {
	*core
	allocations *blocks.Blocks
	audited     *auditedBlocks // nil for a Tracker without an audit
	timeline    *timeline.Timeline
	lister      *blocks.Lister
	reader      *windowReader
	certifier   *certifier
	glancer     *glancer
}

// New returns a Tracker that has seen nothing.
func New() *Tracker {
	a := blocks.New(windows.NewState())
	return newTracker(a, a, nil)
}

// NewAudited returns a Tracker that has seen nothing, and the Findings of an audit of the same session. Both follow the
// same windows, so the audit adds only its blocks.
func NewAudited() (*Tracker, *Findings) {
	s := windows.NewState()
	audited, a := &auditedBlocks{Blocks: blocks.New(s)}, audit.New(s)
	audited.audit.Store(a)
	t := newTracker(audited.Blocks, audited, audited)
	return t, &Findings{core: t.core, audit: a}
}

// newTracker returns a Tracker that reports the allocations of a. l is the keeper of blocks that follows events: a
// itself or, for a Tracker with an audit, audited, which contains a.
func newTracker(a *blocks.Blocks, l activity.Blocks, audited *auditedBlocks) *Tracker {
	s := a.State
	chart := timeline.New(s)
	c := newCore(s, l, chart)
	list := &blocks.Lister{Rows: c.Rows, Allocations: a, Merger: a.Merger}
	return &Tracker{
		core: c, allocations: a, audited: audited, timeline: chart, lister: list,
		reader:    &windowReader{Rows: c.Rows, lister: list},
		certifier: &certifier{State: s, activity: c.activity, allocations: a},
		glancer:   newGlancer(c.Rows, list, a, c.activity),
	}
}

// Add processes the next event. The caller may reuse the memory of a boundary or a change when Add returns.
func (t *Tracker) Add(e event.Event) { t.sequence.add(e) }

// Flush settles the last boundary, as an [event.Lull] does. A reading of that boundary that comes only after Flush
// counts with the next boundary of its tree, which makes peaks of other processes too low: a live session reads until
// no reading is left (ledger.Poll).
func (t *Tracker) Flush() { t.sequence.flush() }

// EndAudit ends the audit of [NewAudited] and frees its memory. Its Findings must not be used afterwards. Any goroutine
// may call EndAudit. The Tracker goes on.
func (t *Tracker) EndAudit() {
	if t.audited != nil {
		t.audited.audit.Store(nil)
	}
}

// Mark makes [Tracker.Glance] measure growth from now on if now is true, otherwise from the beginning of each cell.
func (t *Tracker) Mark(now bool) { t.glancer.Mark(now) }

// Glance returns the present state: figures up to the last boundary, and the largest variables as of their last
// listing. Its cost grows with the stacks of running cells, and not with the length of the session.
func (t *Tracker) Glance() *model.Glance {
	t.Flush()
	return t.glancer.Glance()
}

// Named returns the variables of e, which a search found while the session ran, with the cells that made them. They are
// in no order.
func (t *Tracker) Named(e *event.Variables) ([]model.Variable, model.Names) {
	return t.Namespaces.VariablesOf(WithCells(t, e))
}

// WithCells returns e with the name of the cell in the name of its traceback, if the cell that failed is known.
func WithCells(t *Tracker, e *event.Variables) *event.Variables { return t.Files.WithCells(e) }
