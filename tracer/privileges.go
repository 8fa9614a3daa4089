package tracer

import (
	"fmt"
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
	unix.CAP_DAC_READ_SEARCH, // /proc/PID/mem of another user's process, where there is no CAP_DAC_OVERRIDE
	unix.CAP_DAC_OVERRIDE,    // the report and the recording, in a folder of the invoking user
	unix.CAP_CHOWN,           // and belonging to that user
	unix.CAP_FOWNER,
	unix.CAP_KILL, // a command that was started, should the session not come about
}

// DropPrivileges gives up for good, in all threads, every capability that a running session does not need, and
// forbids programs it might start to gain any.
func DropPrivileges() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var now, keep [2]unix.CapUserData
	if err := unix.Capget(&header, &now[0]); err != nil {
		return fmt.Errorf("read the capabilities: %w", err)
	}
	for _, c := range needed {
		bit := uint32(1) << (c % 32)
		keep[c/32].Permitted |= bit & now[c/32].Permitted
		keep[c/32].Effective |= bit & now[c/32].Effective
	}
	// Capabilities belong to threads. psx is syscall.AllThreadsSyscall where there is no cgo; with cgo, where that does
	// not work, it does the same by a signal to each thread.
	if _, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&keep[0])), 0); errno != 0 {
		return fmt.Errorf("drop capabilities: %w", errno)
	}
	if _, _, errno := psx.Syscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("forbid new privileges: %w", errno)
	}
	return nil
}
