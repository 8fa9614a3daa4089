package tracee

import (
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// An Instrument places the probes of one kind in one target, and serves them until the target is released. Whenever a
// target has loaded or unloaded a library, an examiner lists its mappings and shows each to the target's instruments.
// Instruments report missing data to the Witness of their Host, for the certificate.
type Instrument interface {
	// Meet examines a mapping, which it may have met before.
	Meet(l Listing, m process.Mapping)
	// Listed is called after Meet was called for all mappings of a listing, unless the target ended meanwhile.
	Listed(l Listing)
	// Expect looks for files that the target may yet load, given its sys.path.
	Expect(modules []string)
	// Place places the probes that wait for no mapping, except those of paused groups. It is called once, when the
	// target has become a Python.
	Place() error
	// Settle does work that neither Place nor Meet does.
	Settle()
	// Due returns the latest time for the next call of Settle, the zero time if the instrument waits for nothing.
	Due() time.Time
	// Pause removes the probes of a group. It does nothing for a group that the instrument does not serve.
	Pause(g ledger.Group)
	// Resume places the probes of a paused group again. It does nothing for a group that the instrument does not serve.
	Resume(g ledger.Group) error
	// Places returns the number of files with probes, for limits over all targets.
	Places() int
	// Close removes all probes and closes all open files, which may take a while.
	Close()
}

// ArrayInstrument is the instrument for NumPy's blocks.
type ArrayInstrument interface {
	Instrument
	// Pass records that blocks of the target have bypassed the probes in NumPy.
	Pass(foreign ledger.Foreign)
	Sharer
}

// Sharer is the instrument for blocks of which the target can count the small ones itself.
type Sharer interface {
	// Share calls give, if the target may count small blocks itself beside the probes. An error matches
	// [ledger.ErrNoPage] if it may not, or not yet.
	Share(give func() (fd int, err error)) (fd int, err error)
}

// Listing is one pass over a target's mappings.
type Listing struct {
	First bool              // the first listing of the target: its mappings are not new
	Last  bool              // the session is over: no probes are placed any more
	Since event.Nanoseconds // the time of the listing before
}

// Inert implements with empty methods the duties that most instruments do not have.
type Inert struct{}

func (Inert) Meet(Listing, process.Mapping) {}
func (Inert) Listed(Listing)                {}
func (Inert) Expect([]string)               {}
func (Inert) Place() error                  { return nil }
func (Inert) Settle()                       {}
func (Inert) Due() time.Time                { return time.Time{} }
func (Inert) Pause(ledger.Group)            {}
func (Inert) Resume(ledger.Group) error     { return nil }
func (Inert) Places() int                   { return 0 }
