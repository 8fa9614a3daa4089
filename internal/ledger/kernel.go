package ledger

import "golang.org/x/sys/unix"

// KernelRelease returns `uname -r`.
func KernelRelease() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}
