package tracer

import (
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// An instrument places the probes of one kind in one target, and serves them until the target is released. Whenever a
// target has loaded or unloaded something, an examiner goes through its mappings and shows each to the target's
// instruments. Instruments note missing data with the witness of their [host], for the certificate.
type instrument interface {
	// meet examines a mapping, which it may have met before; listed is called once all have been shown, unless the
	// target ended meanwhile.
	meet(l listing, m process.Mapping)
	listed(l listing)
	// expect looks for files that the target may yet load, given its sys.path.
	expect(modules []string)
	// place puts in the probes that wait for no mapping, except for those of groups that are stepped down. It is called
	// once, when the target has become a Python.
	place() error
	// settle does the work that neither place nor meet does; due returns when to call it next at the latest, the zero
	// time if it waits for nothing.
	settle()
	due() time.Time
	// stepDown takes the probes of a group out, and stepUp puts them back. Both do nothing for a group that the
	// instrument does not serve.
	stepDown(g ledger.Group)
	stepUp(g ledger.Group) error
	// places returns how many files it has probes on, for limits over all targets.
	places() int
	// close takes all probes out and closes its open files, which may take a while.
	close()
}

// arrayInstrument is the instrument for NumPy's blocks.
type arrayInstrument interface {
	instrument
	// pass notes that the target's blocks bypass the probes in NumPy, while these served.
	pass(foreign ledger.Foreign)
}

// listing is one pass over a target's mappings.
type listing struct {
	first bool              // the first listing of the target: its mappings are not new
	last  bool              // the session is over: what has no probes by now gets none
	since event.Nanoseconds // when the last one was
}

// inert implements with empty methods the duties that most instruments do not have.
type inert struct{}

func (inert) meet(listing, process.Mapping) {}
func (inert) listed(listing)                {}
func (inert) expect([]string)               {}
func (inert) place() error                  { return nil }
func (inert) settle()                       {}
func (inert) due() time.Time                { return time.Time{} }
func (inert) stepDown(ledger.Group)         {}
func (inert) stepUp(ledger.Group) error     { return nil }
func (inert) places() int                   { return 0 }
