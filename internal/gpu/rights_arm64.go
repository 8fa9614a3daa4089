package gpu

import "golang.org/x/sys/unix"

// This architecture has no calls that later ones have only newer forms of.
var (
	older        []uintptr
	olderRefused map[unix.Errno][]uintptr
)

// opening are the calls that open files, by the argument with the flags.
var opening = map[uintptr]int{unix.SYS_OPENAT: 2}
