package tracer

import (
	"errors"
	"sync"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// target is an attached process, or a Python child of one.
type target struct {
	pid    int
	root   uint32
	child  bool
	slot   uint32
	handle *process.Handle
	python *python
	gone   bool
	ended  time.Time // when that was noticed
	leaves bool      // it is to leave the session
	late   bool      // it ran before the session
	// before has the sizes of arrays from before the session that existed when NumPy's meter was first paused, by
	// address; nil: not known.
	before map[uint64]uint64
	// announced: its ProcessInfo has been emitted.
	announced bool
	limited   bool // by this session
	// instruments are nil until the target is equipped; numpy is one of them.
	instruments []instrument
	numpy       arrayInstrument
	// identified: the ledger knows which GPUs it uses.
	identified bool
	natives    nativeSpace
	// unlisted: it has loaded or unloaded a library since its mappings were last read.
	unlisted bool
	listed   event.Nanoseconds // when its mappings were last read
	rested   rest              // before they are read again
	// patience is the number of further checks whether a process has become a Python.
	patience int
	looked   time.Time // time of the last check
}

// pythonPatience times betweenLooks is 3 s: by then an interpreter has mapped its library.
const (
	pythonPatience = 150
	betweenLooks   = 20 * time.Millisecond
)

func (t *target) isRoot() bool { return !t.child }

// lives fails with [process.ErrNoProcess] once a target has ended: from then on its pid may be another process's. While
// lives succeeds, all earlier operations by pid were on the target.
func (t *target) lives() error {
	ended, err := t.handle.Exited()
	if err == nil && ended {
		err = &process.Error{PID: t.pid, Kind: process.ErrNoProcess}
	}
	return err
}

// closeProbes detaches the target's probes, and waits until that is done.
func (t *target) closeProbes() {
	var closing sync.WaitGroup
	t.closeInstruments(&closing)
	closing.Wait()
}

func (t *target) close() error {
	var errs []error
	if t.python != nil {
		t.python.close()
	}
	if t.handle != nil {
		errs = append(errs, t.handle.Close())
	}
	return errors.Join(errs...)
}

// used returns the CPU time of the target, 0 if it cannot be read.
func (t *target) used() event.Nanoseconds {
	if t.handle == nil {
		return 0
	}
	d, err := t.handle.CPUTime()
	if err != nil {
		return 0
	}
	return event.Nanoseconds(d / time.Nanosecond)
}

// due returns when a target's instruments are to be settled next, the zero time if they wait for nothing.
func (t *target) due() (at time.Time) {
	for _, i := range t.instruments {
		at = sooner(at, i.due())
	}
	return at
}

// closeInstruments detaches the probes of all instruments at the same time: the kernel lets a while pass for each,
// which would add up one after the other. A process that executes another program is equipped anew.
func (t *target) closeInstruments(closing *sync.WaitGroup) {
	for _, i := range t.instruments {
		closing.Go(i.close)
	}
	t.instruments, t.numpy = nil, nil
}

// stepUp attaches the probes of a group.
func (t *target) stepUp(g ledger.Group) error {
	for _, i := range t.instruments {
		if err := i.stepUp(g); err != nil {
			return err
		}
	}
	return nil
}
