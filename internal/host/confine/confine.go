// Package confine takes rights that are not needed any more from this very process, in all its threads and for good:
// capabilities, files, and system calls. It is for a program that will read what others have made, so that a mistake in
// the reading does little harm. Package tracer lists the rights that a session may keep.
//
// The rest is a list of the calls that are allowed, not of those that are forbidden. A call that is not on it fails,
// and does not kill the program. The kernel notes the failure in its log (audit, type 1326, as far as the machine keeps
// one). A kill would end a session without its report over a harmless call that a later C library adds. An attacker who
// has taken the program over gets no further with an error than with an end: the call is not made.
package confine

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// NoNewPrivileges keeps programs that this one might execute from gaining privileges: neither set-user-id nor
// capabilities of files count (PR_SET_NO_NEW_PRIVS).
func NoNewPrivileges() error {
	if _, _, errno := psx.Syscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("forbid new privileges: %w", errno)
	}
	return nil
}

// OnOwnThread runs a function on a thread on which nothing else runs, neither meanwhile nor afterwards: the runtime
// ends a thread with a goroutine that ends while locked to it. The first thread is left alone, as /proc/PID shows its
// credentials.
func OnOwnThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		f()
		return
	}
	begun := make(chan struct{})
	go func() {
		runtime.LockOSThread() // another thread: the first one is taken
		close(begun)
		f()
	}()
	<-begun
	runtime.UnlockOSThread()
}
