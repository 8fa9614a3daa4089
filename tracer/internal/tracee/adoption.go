package tracee

// A [Tree] adopts the processes below a target that an attach finds.

import (
	"errors"
	"time"

	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

const (
	// MaxScans is the largest number of scans for the descendants of a target once it is traced. The scans end with the
	// first that finds no new process. That is the very first, unless processes start at that moment.
	MaxScans = 16
	// UsualTime is how long these scans take in all. A target that starts processes for ever delays an attach no
	// longer.
	UsualTime = 2 * time.Second
)

// Tree adopts a target and the descendants that it had before it was traced. The kernel half itself adopts the
// processes that a traced process forks. Neither covers a process that is forked, or executes a program, between a look
// at /proc and the moment in which its parent is traced. Nor do they cover a vfork child whose parent is not traced
// yet: the child's memory is the parent's, and so is the slot. So the attach scans again after the parent is traced.
type Tree struct {
	Scan   func() ([]process.Identity, error) // the descendants
	Stat   func(pid int) (process.Stat, error)
	Kernel interface {
		Adopt(root uint32, pid int, started uint64, parent int) (slot uint32, err error)
		AttachProcess(root uint32, pid int, started uint64) (slot uint32, err error)
		Detach(pid int) error
		Slot(pid int) (uint32, error)
	}
	Refused func(pid int, err error) // is called for a process for which the kernel half has no room
	Take    time.Duration            // the longest time of all scans by rescan

	Slots   map[process.Identity]uint32 // slots of the adopted processes
	known   map[process.Identity]bool   // processes that are adopted, traced already, or refused
	rescans int                         // of follow
}

// Attach adopts a target and its descendants, all or none. unsettled is the number of the last scan by [Tree.follow] if
// that did not settle, else 0.
func (a *Tree) Attach(root uint32, id process.Identity) (slot uint32, unsettled int, err error) {
	if _, err := a.pass(root, time.Time{}); err != nil {
		return 0, 0, err
	}
	if slot, err = a.Kernel.AttachProcess(root, id.PID, id.StartTicks); err != nil {
		a.release()
		return 0, 0, err
	}
	settled, err := a.rescan(root)
	if err != nil {
		a.release()
		_ = a.Kernel.Detach(id.PID)
		return 0, 0, err
	}
	if !settled {
		unsettled = a.rescans
	}
	return slot, unsettled, nil
}

func (a *Tree) release() {
	for d := range a.Slots {
		_ = a.Kernel.Detach(d.PID) // it may have ended
	}
}

// pass scans once. It stops at the time until, unless that is zero. settled reports whether every descendant was known
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
		if !a.adopt(root, d) {
			settled = false
		}
	}
	return settled, nil
}

// adopt adopts a process. isSettled is true if the process was traced already, is refused, or has ended, so that no
// further pass is needed for it. Any other process may have started processes since the scan, or is executing a program
// and must be adopted by the next pass.
func (a *Tree) adopt(root uint32, d process.Identity) (isSettled bool) {
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
	// The process may be traced already. ErrFull: it is, but has no slot of its own.
	if _, err := a.Kernel.Slot(d.PID); err == nil || errors.Is(err, ledger.ErrFull) {
		a.known[d] = true
		return true
	}
	stat, err = a.Stat(d.PID)
	return err != nil || stat.StartTicks != d.StartTicks || stat.Ended()
}

// rescan scans again, once the target is traced, until a scan finds no new process. settled is false if it ran out of
// scans or of time.
func (a *Tree) rescan(root uint32) (settled bool, err error) {
	until := time.Now().Add(a.Take)
	for range MaxScans {
		a.rescans++
		if settled, err = a.pass(root, until); settled || err != nil || time.Now().After(until) {
			break
		}
	}
	return settled, err
}
