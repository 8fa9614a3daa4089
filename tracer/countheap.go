package tracer

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"

	"ipytracer/event"
	"ipytracer/internal/code/machine"
	"ipytracer/internal/heapcounts"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/tracee"
)

// heapOffer lets a command that is being started count malloc's blocks itself.
type heapOffer struct {
	page    *ledger.HeapPage
	library *os.File
	given   *os.File // the page's descriptor for the command
}

// offerHeap prepares a command that was not started yet. It fails with [heapcounts.ErrCannot] for a command that cannot
// count; its blocks are then seen by probes, as in a process that is attached to.
func offerHeap(cmd *exec.Cmd) (o *heapOffer, err error) {
	if err := heapcounts.Suits(cmd.Path); err != nil {
		return nil, err
	}
	o = &heapOffer{}
	defer func() {
		if err != nil {
			_ = o.close()
			o = nil
		}
	}()
	if o.library, err = heapcounts.Open(); err != nil {
		return o, err
	}
	if o.page, err = ledger.NewHeapPage(); err != nil {
		return o, err
	}
	fd, err := unix.FcntlInt(uintptr(o.page.FD()), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return o, fmt.Errorf("%w: %w", heapcounts.ErrCannot, err)
	}
	o.given = os.NewFile(uintptr(fd), "page")
	heapcounts.Preload(cmd, o.library, o.given)
	return o, nil
}

// close closes what no target has taken over. It may be called again, and for nil.
func (o *heapOffer) close() (err error) {
	if o == nil {
		return nil
	}
	for _, f := range []*os.File{o.library, o.given} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	if o.page != nil {
		err = errors.Join(err, o.page.Close())
	}
	*o = heapOffer{}
	return err
}

// accept has the command, which is the target and has not run yet, count in its page.
func (o *heapOffer) accept(s *Session, t *tracee.Target) error {
	code, err := machine.OpenLibrary(o.library, heapcounts.Told)
	if err != nil {
		return err
	}
	told := code.Start(heapcounts.Told)
	if !told.Present() {
		return fmt.Errorf("%w: its library lacks %s", heapcounts.ErrCannot, heapcounts.Told)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(o.library.Fd()), &st); err != nil {
		return err
	}
	own := &tracee.OwnHeap{
		Page:    o.page,
		Library: process.FileID{Major: unix.Major(st.Dev), Minor: unix.Minor(st.Dev), Inode: st.Ino},
		Leave:   func() error { return s.ledger.CountHeap(t.PID, false) },
	}
	own.Probes, err = s.ledger.Probe(o.library, t.PID,
		[]ledger.Placement{{Program: ledger.HeapLeave, Offsets: []uint64{told.FileOffset},
			Cookies: []uint64{ledger.HeapTold}}})
	if err != nil {
		return err
	}
	if err := errors.Join(s.ledger.CountHeap(t.PID, true), o.page.Offer(t.PID)); err != nil {
		return errors.Join(err, own.Probes.Close())
	}
	t.OwnHeap, o.page = own, nil
	return nil
}

// sayHeap reports, at the end of a target that is no Python, whether malloc's blocks were counted. Such a program has
// no probes.
func (e *examiner) sayHeap(t *tracee.Target) {
	if !e.options.Heap || t.Python != nil {
		return
	}
	if t.OwnHeap.Counts() {
		e.noteOwnHeap(t)
		return
	}
	e.certificate.Misses(t.PID, 0, []event.Meter{event.Heap},
		"pid %d is no Python, and does not count malloc's blocks itself: nothing of cpu.heap is seen", t.PID)
}

// noteOwnHeap records that a target counts malloc's blocks itself.
func (e *examiner) noteOwnHeap(t *tracee.Target) {
	e.certificate.NoteUse(ledger.GroupHeap,
		fmt.Sprintf("none of blocks below 64 KiB in pid %d, which it counts itself", t.PID))
}
