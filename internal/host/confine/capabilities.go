package confine

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// sets are the capabilities of a thread, 32 to a word (capset(2)).
type sets [2]unix.CapUserData

// KeepCapabilities gives up, in all threads and for good, every capability but some. Of those it keeps the ones that
// the program has. It forbids new privileges ([NoNewPrivileges]). The inheritable and ambient sets are empty then.
//
// The bounding set stays as it is. It limits the capabilities that a program gains by being executed, which are none
// without new privileges: the kernel then cuts the program's set down to the earlier one (cap_bprm_creds_from_file,
// security/commoncap.c). To empty the set takes a system call for each of its 41 capabilities in each thread, one after
// the other.
func KeepCapabilities(keep ...uint) error {
	now, err := capabilities()
	if err != nil {
		return err
	}
	if err := NoNewPrivileges(); err != nil {
		return err
	}
	// ambient capabilities are inheritable ones and go with them (capabilities(7))
	return setCapabilities(now.only(keep))
}

// WithholdCapabilities makes programs that are started get none of this one's capabilities, neither by inheritance nor
// as ambient ones, which are inheritable (capabilities(7)). A service manager may have given some.
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

// WithOnly runs a function on a thread of its own, with some of this program's capabilities in effect and no other: the
// function's result then shows whether they are enough. The function must not start goroutines that are meant to do
// without the others, too.
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

// only returns the held capabilities among some; none is inheritable.
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

// setCapabilities sets the capabilities of all threads: capabilities belong to threads. psx is
// syscall.AllThreadsSyscall where there is no cgo. With cgo, where AllThreadsSyscall does not work, psx does the same
// by a signal to each thread.
func setCapabilities(s sets) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if _, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&s[0])),
		0); errno != 0 {
		return fmt.Errorf("set the capabilities: %w", errno)
	}
	return nil
}
