package doctor

import "golang.org/x/sys/unix"

// The call that makes a process as fork(3) does, and its first argument.
const (
	forkCall  = unix.SYS_CLONE
	forkFlags = uintptr(unix.SIGCHLD)
)
