package confine

import "golang.org/x/sys/unix"

// ownCalls begins a filter: it denies calls by the numbers of other machines, and loads the number of the call.
func ownCalls() []unix.SockFilter {
	return []unix.SockFilter{
		load(offsetMachine), unless(unix.AUDIT_ARCH_AARCH64, 1), {Code: unix.BPF_JMP | unix.BPF_JA, K: 1}, deny(),
		load(offsetCall),
	}
}

// This architecture has no calls that later ones have only newer forms of.
var olderWaiting, olderReading []uintptr
