package tracer

import (
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// needed are the capabilities a session goes on needing once its probes are in (capabilities(7)).
var needed = []uint{
	unix.CAP_BPF,             // the rings and maps
	unix.CAP_PERFMON,         // probes put back by the budget, or placed in a child that turns out to be a Python
	unix.CAP_SYS_PTRACE,      // /proc/PID/mem and map_files of a target
	unix.CAP_SYS_ADMIN,       // /proc/PID/map_files before kernel 5.9, uprobes on some distributions' kernels
	unix.CAP_DAC_READ_SEARCH, // /proc/PID/mem of another user's process, which is not root's to read
	unix.CAP_KILL,            // a command that was started, should the session not come about
}

// DropPrivileges gives up for good, in all threads, every capability that a running session does not need, but those to be kept, and
// forbids programs it might start to gain any.
func DropPrivileges(besides ...uint) error {
	now, err := capabilities()
	if err != nil {
		return err
	}
	var keep [2]unix.CapUserData
	for _, c := range slices.Concat(needed, besides) {
		bit := uint32(1) << (c % 32)
		keep[c/32].Permitted |= bit & now[c/32].Permitted
		keep[c/32].Effective |= bit & now[c/32].Effective
	}
	if err := setCapabilities(keep); err != nil {
		return err
	}
	if _, _, errno := psx.Syscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("forbid new privileges: %w", errno)
	}
	return nil
}

// WithholdCapabilities makes programs that are started get none of this one's capabilities, by inheritance or as ambient ones, which are
// inheritable (capabilities(7)): a service manager may have given some.
func WithholdCapabilities() error {
	sets, err := capabilities()
	if err != nil {
		return err
	}
	if sets[0].Inheritable == 0 && sets[1].Inheritable == 0 {
		return nil
	}
	sets[0].Inheritable, sets[1].Inheritable = 0, 0
	return setCapabilities(sets)
}

func capabilities() (sets [2]unix.CapUserData, err error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return sets, fmt.Errorf("read the capabilities: %w", err)
	}
	return sets, nil
}

// setCapabilities does so in all threads: capabilities belong to threads. psx is syscall.AllThreadsSyscall where there is no cgo; with
// cgo, where that does not work, it does the same by a signal to each thread.
func setCapabilities(sets [2]unix.CapUserData) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if _, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets[0])), 0); errno != 0 {
		return fmt.Errorf("set the capabilities: %w", errno)
	}
	return nil
}
