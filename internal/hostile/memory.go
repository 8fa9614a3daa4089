package hostile

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Memory is a page whose page faults nobody handles. A user can make such a page with a file system of his own. A
// thread that writes to it waits in Linux, with all locks that it has, until [Memory.Release]. Memory needs
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

// control makes a request to userfaultfd.
func (m *Memory) control(request uintptr, argument *[4]uint64) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(m.fd), request, uintptr(unsafe.Pointer(argument)))
	if errno != 0 {
		return fmt.Errorf("userfaultfd: %w", errno)
	}
	return nil
}

// Receive begins to receive a packet into the page, and returns once a thread waits for the page. The socket must have
// a packet. The channel over is closed when the receive ends, after [Memory.Release].
func (m *Memory) Receive(socket int) (over <-chan struct{}, err error) {
	done := make(chan struct{})
	go func() {
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

// Release lets the threads that wait for the page go on.
func (m *Memory) Release() { unix.Close(m.fd) }
