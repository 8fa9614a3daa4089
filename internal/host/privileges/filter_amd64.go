package privileges

import "golang.org/x/sys/unix"

const x32 = 0x40000000 // __X32_SYSCALL_BIT (asm/unistd.h): other numbers for the same calls

// ownCalls returns the beginning of a filter. It denies calls with the numbers of other machines, and loads the number
// of the call.
func ownCalls() []unix.SockFilter {
	return []unix.SockFilter{
		load(offsetMachine), unless(unix.AUDIT_ARCH_X86_64, 2), load(offsetCall),
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: x32, Jf: 1}, deny(),
	}
}

// The calls that are replaced by newer ones on later architectures.
var (
	olderWaiting = []uintptr{unix.SYS_EPOLL_WAIT, unix.SYS_POLL}
	olderReading = []uintptr{unix.SYS_READLINK, unix.SYS_ACCESS}
)
