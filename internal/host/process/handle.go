package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Handle holds on to one process through a pidfd (pidfd_open(2)): whatever becomes of the pid, the handle means
// the process it was opened for. The process does not notice. A handle is safe for concurrent use.
type Handle struct {
	id     Identity
	fs     FS
	pidfd  *os.File
	done   chan struct{} // closed when the process has ended
	closed chan struct{} // closed when nobody watches any more
}

// Open takes hold of a process and identifies it exactly: the start time is read again after the pidfd is there, so a
// pid handed on in between cannot be confused. It fails as [FS.Identity] does, and needs Linux 5.3 and an FS on the
// running system's /proc.
func (fs FS) Open(pid int) (*Handle, error) {
	id, err := fs.Identity(pid)
	if err != nil {
		return nil, err
	}
	return fs.OpenIdentity(id)
}

// OpenIdentity is [FS.Open] for a process that was looked at before; it fails with [ErrNoProcess] when that very
// process is gone.
func (fs FS) OpenIdentity(id Identity) (*Handle, error) {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err != nil {
		return nil, fs.Proc(id.PID).failure(fmt.Errorf("open pidfd: %w", err))
	}
	// Nonblocking, so that the Go runtime waits on it with epoll instead of a thread.
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("process %d: pidfd: %w", id.PID, err)
	}
	pidfd := os.NewFile(uintptr(fd), "pidfd")
	if err := fs.Same(id); err != nil {
		pidfd.Close()
		return nil, err
	}
	h := &Handle{id: id, fs: fs, pidfd: pidfd, done: make(chan struct{}), closed: make(chan struct{})}
	go h.watch()
	return h, nil
}

// watch closes done when the process has ended. It closes closed when it stops: then, or once the handle is closed.
func (h *Handle) watch() {
	defer close(h.closed)
	raw, err := h.pidfd.SyscallConn()
	if err != nil {
		return
	}
	// Read calls the function again each time epoll reports the pidfd, and fails once the file is closed.
	if raw.Read(readable) == nil {
		close(h.done)
	}
}

// readable reports whether the process behind a pidfd has ended: its end makes the pidfd readable.
func readable(fd uintptr) bool {
	for {
		set := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(set, 0)
		if !errors.Is(err, unix.EINTR) {
			return n > 0
		}
	}
}

// Identity returns the identity of the process.
func (h *Handle) Identity() Identity { return h.id }

// Done is closed when the process has ended: all its threads are gone, its parent may not know yet. It is never
// closed after [Handle.Close].
func (h *Handle) Done() <-chan struct{} { return h.done }

// Exited reports whether the process has ended. It fails with [ErrClosed] on a closed handle.
func (h *Handle) Exited() (bool, error) {
	raw, err := h.pidfd.SyscallConn()
	if err != nil {
		return false, ErrClosed
	}
	var ended bool
	if err := raw.Control(func(fd uintptr) { ended = readable(fd) }); err != nil {
		return false, ErrClosed
	}
	return ended, nil
}

// Wait returns nil when the process has ended, the context's error when that comes first, or [ErrClosed].
func (h *Handle) Wait(ctx context.Context) error {
	select {
	case <-h.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-h.closed:
		select { // watch closes done first
		case <-h.done:
			return nil
		default:
			return ErrClosed
		}
	}
}

// CPUTime returns [CPUTime] of the handle's process. It fails with [ErrNoProcess] once the process has been reaped.
func (h *Handle) CPUTime() (time.Duration, error) {
	spent, err := CPUTime(h.id.PID)
	if err != nil {
		return 0, err
	}
	// A pid is handed on only once its process has been reaped. From then on the pid has another start time, or none.
	if err := h.fs.Same(h.id); err != nil {
		return 0, err
	}
	return spent, nil
}

// CoveredBy returns nil if r covers all rights of the handle's process. It fails with [ErrNotPermitted] if the process
// has a right that r does not cover, and with [ErrNoProcess] once the process has been reaped.
func (h *Handle) CoveredBy(r Rights) error {
	if err := r.MayLook(h.fs, h.id.PID); err != nil {
		return err
	}
	// MayLook looked at the process that had the pid then: at this one, if the pid still means this one.
	return h.fs.Same(h.id)
}

// Close lets go of the process. The process itself is left as it is.
func (h *Handle) Close() error {
	err := h.pidfd.Close()
	<-h.closed
	if errors.Is(err, os.ErrClosed) {
		return ErrClosed
	}
	return err
}
