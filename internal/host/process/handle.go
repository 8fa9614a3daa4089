package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Handle refers to one process through a pidfd (pidfd_open(2)), even if another process gets the pid later. The process
// does not notice. A Handle is safe for concurrent use.
type Handle struct {
	id     Identity
	fs     FS
	pidfd  *os.File
	done   chan struct{} // closed when the process has ended
	closed chan struct{} // closed when watch has returned
}

// Open returns a Handle of the process that has the pid now. It reads the start time again once it has the pidfd, so it
// cannot take another process that has got the pid meanwhile. It fails as [FS.Identity] does, and needs Linux 5.3 and
// an FS on the running system's /proc.
func (fs FS) Open(pid int) (*Handle, error) {
	id, err := fs.Identity(pid)
	if err != nil {
		return nil, err
	}
	return fs.OpenIdentity(id)
}

// OpenIdentity does what [FS.Open] does, for a known identity. It fails with [ErrNoProcess] if the process is gone.
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

// watch closes done when the process has ended. When that happens or the Handle is closed, it closes closed.
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

// Done returns a channel that is closed when all threads of the process have ended, but not after [Handle.Close].
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

// Wait waits until the process has ended. It fails with the context's error if the context ends first, and with
// [ErrClosed] if the Handle is closed.
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
	// Another process gets the pid only after this one has been reaped, and then has another start time.
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
	// MayLook examined the process that had the pid. It was this one if this one still has the pid.
	return h.fs.Same(h.id)
}

// Close closes the Handle. It has no effect on the process.
func (h *Handle) Close() error {
	err := h.pidfd.Close()
	<-h.closed
	if errors.Is(err, os.ErrClosed) {
		return ErrClosed
	}
	return err
}
