package ledger

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// bell waits for records of a ring, or for a call of ring. The wait holds no thread: Go's runtime waits for the
// descriptor together with all others. A thread that waits in a system call would keep the runtime's monitor awake,
// which takes a millisecond of every second (Go 1.26).
type bell struct {
	epoll *os.File // readable while the ring has records, or after rings
	conn  syscall.RawConn
	wake  int // an eventfd
}

func newBell(ring int) (_ *bell, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("wait for a ring: %w", err)
		}
	}()
	b := &bell{wake: -1}
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(epoll, true); err != nil { // so that os.NewFile hands it to the runtime
		_ = unix.Close(epoll)
		return nil, err
	}
	b.epoll = os.NewFile(uintptr(epoll), "rings")
	defer func() {
		if err != nil {
			_ = b.close()
		}
	}()
	if b.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, err
	}
	for _, fd := range []int{ring, b.wake} {
		if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{
			Events: unix.EPOLLIN, Fd: int32(fd),
		}); err != nil {
			return nil, err
		}
	}
	b.conn, err = b.epoll.SyscallConn()
	return b, err
}

// wait returns when the ring has records, after a call of ring, or at the deadline.
func (b *bell) wait(deadline time.Time) error {
	if err := b.epoll.SetReadDeadline(deadline); err != nil {
		return fmt.Errorf("wait for a ring: %w", err)
	}
	var failed error
	err := b.conn.Read(func(fd uintptr) (done bool) {
		var ready [2]unix.EpollEvent
		n, err := unix.EpollWait(int(fd), ready[:], 0)
		if err != nil {
			failed = err
			return true
		}
		for _, ready := range ready[:n] {
			if int(ready.Fd) == b.wake {
				var count [8]byte
				_, _ = unix.Read(b.wake, count[:])
			}
		}
		return n > 0
	})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("wait for a ring: %w", err)
	}
	return nil
}

// ring makes the present wait, or else the next one, return. Any goroutine may call it.
func (b *bell) ring() error {
	_, err := unix.Write(b.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	if errors.Is(err, unix.EAGAIN) { // it has been rung 2^64 - 2 times
		return nil
	}
	return err
}

func (b *bell) close() error {
	err := b.epoll.Close()
	if b.wake >= 0 {
		err = errors.Join(err, unix.Close(b.wake))
		b.wake = -1
	}
	return err
}
