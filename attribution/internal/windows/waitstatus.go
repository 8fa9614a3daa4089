package windows

import "fmt"

// waitStatus is how a process ended, in Linux's own form (wait(2), x86-64 and arm64). A recording is also read where
// there is no Linux.
type waitStatus uint32

// signalNames are Linux's signals by number.
var signalNames = [...]string{
	1: "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGUSR1", "SIGSEGV",
	"SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT", "SIGCHLD", "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGTTIN",
	"SIGTTOU", "SIGURG", "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO", "SIGPWR", "SIGSYS",
}

// signal returns the name of the signal that ended the process, "" if none did.
func (s waitStatus) signal() string {
	switch n := int(s & 0x7f); {
	case n == 0 || n == 0x7f: // it exited, or is only stopped
		return ""
	case n < len(signalNames):
		return signalNames[n]
	default:
		return fmt.Sprintf("signal %d", n)
	}
}

// exit returns the exit status of a process that no signal ended.
func (s waitStatus) exit() int { return int(s >> 8 & 0xff) }
