// Package adoption takes in the processes below a target that an attach finds.
package adoption

import (
	"errors"
	"time"

	"ipytracer/tracer/host/process"
	"ipytracer/tracer/ledger"
)

const (
	// MaxScans is how often the descendants of a target are looked for once it is traced. One look that finds nobody
	// new is enough, and that is the first, unless processes start just then.
	MaxScans = 16
	// UsualTime is how long these looks take in all. A target that starts processes for ever holds an attach up no
	// longer.
	UsualTime = 2 * time.Second
)

// Tree takes in a target and the descendants that it had before it was traced. What a traced process forks the kernel
// half takes in itself; a process that is forked, or executes a program, between a look at /proc and the moment in
// which its parent is traced is in neither. Nor is a vfork child whose parent is not traced yet: the memory that it has
// is the parent's, and so is the slot. So who attaches looks again behind that moment.
type Tree struct {
	Scan   func() ([]process.Identity, error) // the descendants
	Stat   func(pid int) (process.Stat, error)
	Kernel interface {
		Adopt(root uint32, pid int, started uint64, parent int) (slot uint32, err error)
		AttachProcess(root uint32, pid int, started uint64) (slot uint32, err error)
		Detach(pid int) error
		Slot(pid int) (uint32, error)
	}
	Refused func(pid int, err error) // one that the kernel half has no room for
	Take    time.Duration            // the looks of follow may take so long in all

	Slots map[process.Identity]uint32 // of those that were taken in
	known map[process.Identity]bool   // they, those that are traced already, and those that are refused
	looks int                         // of follow
}

// Attach takes in a target and those below it, all or none. unsettled is the number of the last look that
// [Tree.follow] took if that did not come to an end, else 0.
func (a *Tree) Attach(root uint32, id process.Identity) (slot uint32, unsettled int, err error) {
	if _, err := a.pass(root, time.Time{}); err != nil {
		return 0, 0, err
	}
	if slot, err = a.Kernel.AttachProcess(root, id.PID, id.StartTicks); err != nil {
		a.release()
		return 0, 0, err
	}
	settled, err := a.follow(root)
	if err != nil {
		a.release()
		_ = a.Kernel.Detach(id.PID)
		return 0, 0, err
	}
	if !settled {
		unsettled = a.looks
	}
	return slot, unsettled, nil
}

// release lets those go that were taken in.
func (a *Tree) release() {
	for d := range a.Slots {
		_ = a.Kernel.Detach(d.PID) // it may have ended
	}
}

// pass looks once, until a time if it is not zero. settled reports whether every descendant is known now and was
// before, or has ended.
func (a *Tree) pass(root uint32, until time.Time) (settled bool, err error) {
	if a.known == nil {
		a.Slots, a.known = map[process.Identity]uint32{}, map[process.Identity]bool{}
	}
	descendants, err := a.Scan()
	if err != nil {
		return false, err
	}
	settled = true
	for _, d := range descendants {
		if a.known[d] {
			continue
		}
		if !until.IsZero() && time.Now().After(until) {
			return false, nil
		}
		if !a.takeIn(root, d) {
			settled = false
		}
	}
	return settled, nil
}

// takeIn reports whether a process was traced already, is refused, or has ended: it changes nothing. Otherwise it may
// have started others, or executes a program just now, and is taken in by the next pass.
func (a *Tree) takeIn(root uint32, d process.Identity) (was bool) {
	stat, err := a.Stat(d.PID)
	if err != nil || stat.StartTicks != d.StartTicks {
		return true
	}
	slot, err := a.Kernel.Adopt(root, d.PID, d.StartTicks, stat.ParentPID)
	switch {
	case err == nil:
		a.Slots[d], a.known[d] = slot, true
		return false
	case !errors.Is(err, ledger.ErrNoProcess):
		a.known[d] = true
		a.Refused(d.PID, err)
		return true
	}
	// it is traced, if need be without a slot of its own
	if _, err := a.Kernel.Slot(d.PID); err == nil || errors.Is(err, ledger.ErrFull) {
		a.known[d] = true
		return true
	}
	stat, err = a.Stat(d.PID)
	return err != nil || stat.StartTicks != d.StartTicks || stat.Ended()
}

// follow looks again, once the target is traced, until it finds nobody new. settled is false where it has not come to
// an end.
func (a *Tree) follow(root uint32) (settled bool, err error) {
	until := time.Now().Add(a.Take)
	for range MaxScans {
		a.looks++
		if settled, err = a.pass(root, until); settled || err != nil || time.Now().After(until) {
			break
		}
	}
	return settled, err
}
