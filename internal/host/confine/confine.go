// Package confine gives up rights that this process no longer needs. All its threads lose capabilities, files, and
// system calls, for good. It is for a program that is about to read hostile data, so that a mistake does little harm.
// Package tracer lists the rights that a session keeps.
//
// System calls are confined by a list of allowed calls. Any other call fails, but does not kill the program: a session
// must not end without its report because a later C library makes another harmless call. An attacker who has taken over
// the program gains nothing, because the call is not made. Linux logs the failure (audit, type 1326, if the machine
// keeps such a log).
package confine

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// NoNewPrivileges keeps this process from gaining privileges when it executes a set-user-ID program, or a file with
// capabilities (PR_SET_NO_NEW_PRIVS).
func NoNewPrivileges() error {
	if _, _, errno := psx.Syscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("forbid new privileges: %w", errno)
	}
	return nil
}

// OnOwnThread runs a function on a thread on which nothing else runs, neither meanwhile nor afterwards: Go's runtime
// ends the thread, because its goroutine ends while it is locked to the thread. The thread is never the process's first
// one, whose credentials /proc/PID shows.
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
