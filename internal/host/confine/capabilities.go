package confine

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// sets are the capabilities of a thread, 32 to a word (capset(2)).
type sets [2]unix.CapUserData

// KeepCapabilities gives up, in all threads and for good, every capability but some. Of these it keeps the ones that
// the program has. It forbids new privileges ([NoNewPrivileges]). After it the inheritable and ambient sets are empty.
//
// The bounding set stays as it is. It limits the capabilities that a program gains when it is executed. Without new
// privileges a program gains none: Linux cuts its set down to the earlier one (cap_bprm_creds_from_file,
// security/commoncap.c). To empty the bounding set would take a system call for each of its 41 capabilities, in one
// thread after the other.
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

// WithholdCapabilities empties the set of inheritable capabilities, which a service manager may have filled. Programs
// that this program starts then inherit none. They get no ambient ones either, because ambient capabilities are
// inheritable (capabilities(7)).
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

// WithOnly runs a function on a thread of its own, with only some of this program's capabilities in effect. The
// function's result then shows whether these are enough. The restriction does not hold for goroutines that the function
// starts.
func WithOnly(some []uint, f func() error) error {
	failed := make(chan error)
	go OnOwnThread(func() {
		now, err := capabilities()
		if err == nil {
			only := now.only(some)
			for i := range now {
				now[i].Effective = only[i].Effective
			}
			// The capabilities stay permitted: all threads of a program must be permitted the same (psx).
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

// only returns those of some capabilities that are held. None of them is inheritable.
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
