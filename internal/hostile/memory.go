package hostile

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Memory is a page that nobody serves. A page mapped from a user's own file system may be such a page. A thread that
// writes to it waits in the Linux kernel, with all locks that it has, until the page is released. Memory needs
// userfaultfd(2), which only root may use.
type Memory struct {
	page []byte
	fd   int
}

// The requests of linux/userfaultfd.h.
const (
	uffdioAPI      = 0xc018aa3f
	uffdioRegister = 0xc020aa00
	uffdAPI        = 0xaa
	uffdMissing    = 1
)

// NewMemory returns such a page.
func NewMemory() (*Memory, error) {
	fd, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|unix.O_NONBLOCK, 0, 0)
	if errno != 0 {
		return nil, fmt.Errorf("userfaultfd: %w", errno)
	}
	page, err := unix.Mmap(-1, 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	m := &Memory{page, int(fd)}
	if err == nil {
		err = m.control(uffdioAPI, &[4]uint64{uffdAPI})
	}
	if err == nil {
		err = m.control(uffdioRegister, &[4]uint64{uint64(uintptr(unsafe.Pointer(&page[0]))), uint64(len(page)),
			uffdMissing})
	}
	if err != nil {
		m.Release()
		return nil, err
	}
	return m, nil
}

func (m *Memory) control(request uintptr, of *[4]uint64) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(m.fd), request, uintptr(unsafe.Pointer(of))); errno != 0 {
		return fmt.Errorf("userfaultfd: %w", errno)
	}
	return nil
}

// Receive begins to receive a packet into the memory, and returns once that has begun. The receive ends after
// [Memory.Release]: over is closed then. There must be a packet.
func (m *Memory) Receive(socket int) (over <-chan struct{}, err error) {
	done := make(chan struct{})
	go func() { // one for each call
		defer close(done)
		_, _, _ = unix.Recvfrom(socket, m.page, 0)
	}()
	waiting := []unix.PollFd{{Fd: int32(m.fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(waiting, 60_000)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return done, err
		case n == 1 && waiting[0].Revents == unix.POLLIN:
			return done, nil
		default:
			return done, errors.New("nobody receives")
		}
	}
}

// Release lets the waiting threads go on.
func (m *Memory) Release() { unix.Close(m.fd) }
