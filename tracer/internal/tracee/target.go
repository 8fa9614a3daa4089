// Package tracee has the facts about traced processes that all parts of a session know. They are a [Target] and its
// [Python], the [List] of targets, the limits that a process has on its memory and how it ends ([Watches]), the [Tree]
// below a target, and the GPUs that targets use ([Devices]). The package defines what the parts use of each other: an
// [Instrument], the parts of the ledger in the kernel ([KernelHalf]), and the [Certificate] that notes what may be
// missing.
package tracee

import (
	"errors"
	"strings"
	"sync"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/limit"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// Target is an attached process, or a Python child of one.
type Target struct {
	PID    int
	Root   uint32
	Child  bool
	Slot   uint32
	Handle *process.Handle
	Python *Python
	Gone   bool
	Ended  time.Time // when that was noticed
	Leaves bool      // it is to leave the session
	Late   bool      // it ran before the session
	// Before has the sizes of arrays from before the session that existed when NumPy's meter was first paused, by
	// address; nil: not known.
	Before map[uint64]uint64
	// Announced: its ProcessInfo has been emitted.
	Announced bool
	Limited   bool // by this session
	// Instruments are nil until the target is equipped; those for NumPy and for libraries are two of them.
	Instruments []Instrument
	NumPy       ArrayInstrument
	Tensors     Sharer
	OwnHeap     *OwnHeap // nil unless it is to count malloc's blocks itself
	// Identified: the ledger knows which GPUs it uses.
	Identified bool
	Natives    NativeSpace
	Mappings   Mappings
	// Patience is the number of further checks whether a process has become a Python.
	Patience int
	Looked   time.Time // time of the last check
}

// Mappings is what the session knows of a target's mappings.
type Mappings struct {
	Stale bool              // a library was loaded or unloaded since they were last read
	Read  event.Nanoseconds // when they were last read
	Rest  cooldown          // before they are read again
}

// PythonPatience times betweenLooks is 3 s: by then an interpreter has mapped its library.
const (
	PythonPatience = 150
	BetweenLooks   = 20 * time.Millisecond
)

func (t *Target) IsRoot() bool { return !t.Child }

// Lives fails with [process.ErrNoProcess] once a target has ended: from then on its pid may be another process's. While
// lives succeeds, all earlier operations by pid were on the target.
func (t *Target) Lives() error {
	ended, err := t.Handle.Exited()
	if err == nil && ended {
		err = &process.Error{PID: t.PID, Kind: process.ErrNoProcess}
	}
	return err
}

// CloseProbes detaches the target's probes, and waits until that is done.
func (t *Target) CloseProbes() {
	var closing sync.WaitGroup
	t.CloseInstruments(&closing)
	closing.Wait()
}

func (t *Target) Close() error {
	errs := []error{t.OwnHeap.Close()}
	if t.Python != nil {
		t.Python.Close()
	}
	if t.Handle != nil {
		errs = append(errs, t.Handle.Close())
	}
	return errors.Join(errs...)
}

// Used returns the CPU time of the target, 0 if it cannot be read.
func (t *Target) Used() event.Nanoseconds {
	if t.Handle == nil {
		return 0
	}
	d, err := t.Handle.CPUTime()
	if err != nil {
		return 0
	}
	return event.Nanoseconds(d / time.Nanosecond)
}

// Due returns when a target's instruments are to be settled next, the zero time if they wait for nothing.
func (t *Target) Due() (at time.Time) {
	for _, i := range t.Instruments {
		at = Sooner(at, i.Due())
	}
	return at
}

// CloseInstruments detaches the probes of all instruments at the same time: the kernel lets a while pass for each,
// which would add up one after the other. A process that executes another program is equipped anew.
func (t *Target) CloseInstruments(closing *sync.WaitGroup) {
	for _, i := range t.Instruments {
		closing.Go(i.Close)
	}
	t.Instruments, t.NumPy, t.Tensors = nil, nil, nil
}

// Resume attaches the probes of a group.
func (t *Target) Resume(g ledger.Group) error {
	for _, i := range t.Instruments {
		if err := i.Resume(g); err != nil {
			return err
		}
	}
	return nil
}

// Info returns the recording's entry of the target.
func (t *Target) Info() event.ProcessInfo {
	out := event.ProcessInfo{Root: t.Root, PID: int32(t.PID), Late: t.Late, Inputs: -1}
	if t.Handle != nil { // it is traced, and not only described
		out.Started = t.Handle.Identity().StartTicks
	}
	if c, err := (process.FS{}).Proc(t.PID).Cmdline(); err == nil {
		out.Command = strings.ToValidUTF8(strings.Join(c.Args, " "), "?")
	}
	out.Limit, out.LimitBy = t.limitOf()
	if p := t.Python; p != nil {
		out.Python, out.IPython, out.Frontend, out.Notebook = p.Version(), p.IPython, p.Front, p.Notebook
		if p.Inputs != 0 {
			out.Inputs = p.Count
		}
	}
	return out
}

// limitOf returns the soft limit on a target's mapped memory, and its origin.
func (t *Target) limitOf() (event.Bytes, event.LimitBy) {
	now, err := (process.FS{}).Proc(t.PID).Rlimits()
	if err != nil {
		return 0, event.LimitNone
	}
	switch owner, bytes := limit.OwnerOf(now.Data.Soft); owner {
	case limit.Session:
		if t.Limited {
			return event.Bytes(bytes), event.LimitSession
		}
		return event.Bytes(bytes), event.LimitLeft
	case limit.Command:
		return event.Bytes(bytes), event.LimitCommand
	case limit.Other:
		return event.Bytes(bytes), event.LimitOther
	}
	return 0, event.LimitNone
}

// InRequest reports whether a front end's request is under way.
func (t *Target) InRequest(fs process.FS) bool {
	waits, known := t.Waits(fs)
	return known && !waits
}

// Waits reports whether a front end waits for the next request, if that can be determined.
func (t *Target) Waits(fs process.FS) (waits, known bool) {
	status, err := fs.Proc(t.PID).Status()
	if err != nil {
		return false, false
	}
	return t.Python.Waits(&status)
}
