package tracer

import (
	"time"

	"ipytracer/event"
	"ipytracer/tracer/host/process"
	"ipytracer/tracer/ledger"
)

// An instrument places the probes of one kind in one target, and serves them until the target is let go. An examiner
// goes through a target's mappings whenever that has loaded or unloaded something, and shows each to the target's
// instruments. What they cannot see they note with the witness of their [host], for the certificate.
type instrument interface {
	// meet looks at a mapping, which it may have met before; listed is called once all have been shown, unless the
	// target ended meanwhile.
	meet(l listing, m process.Mapping)
	listed(l listing)
	// expect looks for files that the target may yet load, given its sys.path.
	expect(modules []string)
	// place puts in the probes that wait for no mapping, but for those of groups that are stepped down. It is called
	// once, when the target has become a Python.
	place() error
	// settle does what neither that nor a mapping brings about; due is when it is to be called next at the latest, the
	// zero time if it waits for nothing.
	settle()
	due() time.Time
	// stepDown takes the probes of a group out, stepUp puts them back; of a group that it does not serve it does
	// nothing.
	stepDown(g ledger.Group)
	stepUp(g ledger.Group) error
	// places is how many files it has probes on, for limits over all targets.
	places() int
	// close takes all probes out and closes what it has open, which may take a while.
	close()
}

// arrayInstrument is the instrument for NumPy's blocks.
type arrayInstrument interface {
	instrument
	// pass notes that the target's blocks pass the probes in NumPy by, when these served.
	pass(foreign ledger.Foreign)
}

// listing is one pass over a target's mappings.
type listing struct {
	first bool              // the target has just been met: what it maps is no news
	since event.Nanoseconds // when the last one was
}

// inert is what most instruments have nothing to do about.
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
