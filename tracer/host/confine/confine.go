// Package confine takes from this very process, in all its threads and for good, what it does not need any more:
// capabilities, files, and system calls. It is for a program that will read what others have made, so that a mistake
// in how it reads does little harm; what a session may keep is listed by package tracer.
//
// What is left is a list of what is allowed, not of what is forbidden. A call that is not on it fails, and the kernel's
// log says so (audit, type 1326, as far as the machine keeps one); it does not kill. A kill would turn what a C library
// of next year does in passing into a session without its report, and whoever has taken the program over gets no
// further with an error than with an end: the call is not made.
package confine

import (
	"fmt"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// NoNewPrivileges makes no program that this one might execute gain anything by it: neither set-user-id nor
// capabilities of files count (PR_SET_NO_NEW_PRIVS).
func NoNewPrivileges() error {
	if _, _, errno := psx.Syscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("forbid new privileges: %w", errno)
	}
	return nil
}
