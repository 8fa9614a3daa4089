package privileges

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// sets are the sets of capabilities of a thread, in two parts of 32 capabilities (capset(2)).
type sets [2]unix.CapUserData

// KeepCapabilities gives up all capabilities except those in keep, in all threads and for good. It forbids new
// privileges ([NoNewPrivileges]), and empties the inheritable and ambient sets.
//
// It leaves the bounding set as it is. That set limits the capabilities that the process gains when it executes a
// program. With NoNewPrivileges it gains none (cap_bprm_creds_from_file, security/commoncap.c). To empty the bounding
// set would take a system call for each of the 41 capabilities in each thread.
func KeepCapabilities(keep ...uint) error {
	now, err := capabilities()
	if err != nil {
		return err
	}
	if err := NoNewPrivileges(); err != nil {
		return err
	}
	// Without inheritable capabilities there are no ambient ones (capabilities(7)).
	return setCapabilities(now.only(keep))
}

// WithholdCapabilities empties the set of inheritable capabilities, which a service manager may have filled. That also
// empties the ambient set (capabilities(7)). So programs that this program starts inherit no capabilities.
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

// WithOnly runs a function on a thread of its own, with only some of this program's capabilities in effect, and returns
// its result. That shows whether these capabilities are enough. The restriction does not hold for goroutines that the
// function starts.
func WithOnly(some []uint, f func() error) error {
	failed := make(chan error)
	go OnOwnThread(func() {
		now, err := capabilities()
		if err == nil {
			only := now.only(some)
			for i := range now {
				now[i].Effective = only[i].Effective
			}
			// The capabilities stay permitted, because psx wants the same permitted ones in all threads.
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

// only returns s with some capabilities only, and with no inheritable ones.
func (s sets) only(some []uint) (kept sets) {
	for _, c := range some {
		bit := uint32(1) << (c % 32)
		kept[c/32].Permitted |= bit & s[c/32].Permitted
		kept[c/32].Effective |= bit & s[c/32].Effective
	}
	return kept
}

// capabilities returns the capabilities of this thread.
func capabilities() (now sets, err error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &now[0]); err != nil {
		return now, fmt.Errorf("read the capabilities: %w", err)
	}
	return now, nil
}

// setCapabilities sets the capabilities of all threads. In a build without cgo, psx calls syscall.AllThreadsSyscall.
// With cgo, where that does not work, psx sends a signal to each thread.
func setCapabilities(s sets) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	_, _, errno := psx.Syscall3(unix.SYS_CAPSET,
		uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&s[0])), 0)
	if errno != 0 {
		return fmt.Errorf("set the capabilities: %w", errno)
	}
	return nil
}
