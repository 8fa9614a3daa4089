package tracee

import (
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// An Instrument places the probes of one kind in one target, and serves them until the target is released. Whenever a
// target has loaded or unloaded something, an examiner goes through its mappings and shows each to the target's
// instruments. Instruments note missing data with the witness of their [host], for the certificate.
type Instrument interface {
	// Meet examines a mapping, which it may have met before; listed is called once all have been shown, unless the
	// target ended meanwhile.
	Meet(l Listing, m process.Mapping)
	Listed(l Listing)
	// Expect looks for files that the target may yet load, given its sys.path.
	Expect(modules []string)
	// Place puts in the probes that wait for no mapping, except for those of groups that are paused. It is called
	// once, when the target has become a Python.
	Place() error
	// Settle does the work that neither place nor meet does; due returns when to call it next at the latest, the zero
	// time if it waits for nothing.
	Settle()
	Due() time.Time
	// Pause takes the probes of a group out, and Resume puts them back. Both do nothing for a group that the
	// instrument does not serve.
	Pause(g ledger.Group)
	Resume(g ledger.Group) error
	// Places returns how many files it has probes on, for limits over all targets.
	Places() int
	// Close takes all probes out and closes its open files, which may take a while.
	Close()
}

// ArrayInstrument is the instrument for NumPy's blocks.
type ArrayInstrument interface {
	Instrument
	// Pass notes that the target's blocks bypass the probes in NumPy, while these served.
	Pass(foreign ledger.Foreign)
}

// Listing is one pass over a target's mappings.
type Listing struct {
	First bool              // the first listing of the target: its mappings are not new
	Last  bool              // the session is over: what has no probes by now gets none
	Since event.Nanoseconds // when the last one was
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
