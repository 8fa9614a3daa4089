package ledger

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// KernelRelease returns `uname -r`.
func KernelRelease() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}

// kernelAtLeast compares the running kernel's version.
func kernelAtLeast(major, minor int) bool {
	a, b := parseRelease(KernelRelease())
	return a > major || a == major && b >= minor
}

// parseRelease reads "6.18.44-fc" as 6, 18; what it cannot read is 0.
func parseRelease(release string) (major, minor int) {
	parts := strings.SplitN(release, ".", 3)
	major, _ = strconv.Atoi(parts[0])
	if len(parts) > 1 {
		end := strings.IndexFunc(parts[1], func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(parts[1])
		}
		minor, _ = strconv.Atoi(parts[1][:end])
	}
	return major, minor
}
