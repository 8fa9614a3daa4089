package privileges

import "golang.org/x/sys/unix"

// ownCalls returns the beginning of a filter. It denies calls with the numbers of other machines, and loads the number
// of the call.
func ownCalls() []unix.SockFilter {
	return []unix.SockFilter{
		load(offsetMachine), unless(unix.AUDIT_ARCH_AARCH64, 1), {Code: unix.BPF_JMP | unix.BPF_JA, K: 1}, deny(),
		load(offsetCall),
	}
}

// This architecture has none of the calls that newer ones have replaced.
var olderWaiting, olderReading []uintptr
