package confine

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// sets are the capabilities of a thread, 32 to a word (capset(2)).
type sets [2]unix.CapUserData

// KeepCapabilities gives up, in all threads and for good, every capability but some, of which it keeps what there is. The inheritable and
// ambient sets are empty then, and the bounding set is, unless the error is [ErrBounding].
func KeepCapabilities(keep ...uint) error {
	now, err := capabilities()
	if err != nil {
		return err
	}
	// A thread that has taken some out of effect would be told otherwise than the rest, and psx ends a program whose threads differ.
	if err := setCapabilities(now); err != nil {
		return err
	}
	bounding := emptyBounding()
	if bounding != nil && !errors.Is(bounding, ErrBounding) {
		return bounding
	}
	// Ambient capabilities are inheritable ones and go with them (capabilities(7)).
	if err := setCapabilities(now.only(keep)); err != nil {
		return err
	}
	return bounding
}

// WithholdCapabilities makes programs that are started get none of this one's capabilities, by inheritance or as ambient ones, which are
// inheritable (capabilities(7)): a service manager may have given some.
func WithholdCapabilities() error {
	now, err := capabilities()
	if err != nil {
		return err
	}
	if now[0].Inheritable == 0 && now[1].Inheritable == 0 {
		return nil
	}
	now[0].Inheritable, now[1].Inheritable = 0, 0
	return setCapabilities(now)
}

// WithOnly runs a function on a thread of its own with some capabilities in effect, of those there are, and no other: what it returns then
// tells whether they are enough. The function must not start goroutines that shall do without the others, too.
func WithOnly(some []uint, f func() error) error {
	failed := make(chan error)
	go OnOwnThread(func() {
		now, err := capabilities()
		if err == nil {
			only := now.only(some)
			for i := range now {
				now[i].Effective = only[i].Effective
			}
			// Permitted they stay: threads of one program must not differ in that (psx).
			header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			err = unix.Capset(&header, &now[0])
		}
		if err == nil {
			err = f()
		}
		failed <- err
	})
	return <-failed
}

// only are those of some that are held, none of them inheritable.
func (s sets) only(some []uint) (kept sets) {
	for _, c := range some {
		bit := uint32(1) << (c % 32)
		kept[c/32].Permitted |= bit & s[c/32].Permitted
		kept[c/32].Effective |= bit & s[c/32].Effective
	}
	return kept
}

func capabilities() (now sets, err error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &now[0]); err != nil {
		return now, fmt.Errorf("read the capabilities: %w", err)
	}
	return now, nil
}

// setCapabilities does so in all threads: capabilities belong to threads. psx is syscall.AllThreadsSyscall where there is no cgo; with
// cgo, where that does not work, it does the same by a signal to each thread.
func setCapabilities(s sets) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if _, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&s[0])), 0); errno != 0 {
		return fmt.Errorf("set the capabilities: %w", errno)
	}
	return nil
}

// emptyBounding drops whatever this kernel knows from the bounding set; it is asked until it knows no further one.
func emptyBounding() error {
	for c := uintptr(0); ; c++ {
		in, _, errno := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_READ, c, 0)
		if errno != 0 {
			return nil
		}
		if in == 0 {
			continue
		}
		_, _, errno = psx.Syscall3(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0)
		if errno == unix.EPERM {
			return ErrBounding
		}
		if errno != 0 {
			return fmt.Errorf("drop capability %d from the bounding set: %w", c, errno)
		}
	}
}
