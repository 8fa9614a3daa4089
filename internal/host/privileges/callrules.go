package privileges

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Always returns rules that allow calls whatever their arguments.
func Always(calls ...uintptr) (rules []Rule) {
	for _, c := range calls {
		rules = append(rules, Rule{Call: c})
	}
	return rules
}

// OneOf returns a rule that allows a call if an int argument has one of the values.
func OneOf(call uintptr, argument int, values ...uint32) Rule {
	r := Rule{Call: call}
	for _, v := range values {
		r.When = append(r.When, []Test{Is(argument, v)})
	}
	return r
}

// Program returns rules for the calls that any Go program, and the C library and threads in it, make to read and write
// open files. None of these calls opens a file, starts a program or a process, or reaches another process.
func Program() []Rule {
	return slices.Concat(Always(
		unix.SYS_PREAD64, unix.SYS_FUTEX, unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE, unix.SYS_NANOSLEEP,
		unix.SYS_EPOLL_PWAIT,
		unix.SYS_PWRITE64, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_LSEEK, unix.SYS_FSTAT, unix.SYS_FSYNC,
		unix.SYS_FDATASYNC,
		unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_BRK, unix.SYS_MINCORE,
		unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EVENTFD2, unix.SYS_PIPE2, unix.SYS_PPOLL,
		unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY,
		unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY,
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
		unix.SYS_RESTART_SYSCALL,
		unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID,
		unix.SYS_GETRANDOM, unix.SYS_UNAME,
		unix.SYS_SYSINFO, unix.SYS_GETRUSAGE, unix.SYS_GETRLIMIT, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ,
		unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	), Always(olderWaiting...), []Rule{
		{Call: unix.SYS_CLONE, When: [][]Test{{{0, unix.CLONE_THREAD, unix.CLONE_THREAD}}}},
		{Call: unix.SYS_CLONE3, Refuse: unix.ENOSYS}, // its arguments cannot be tested; programs then call clone
		{Call: unix.SYS_TGKILL, When: [][]Test{{Is(0, uint32(os.Getpid()))}}},
		{Call: unix.SYS_MMAP, When: [][]Test{{Without(2, unix.PROT_EXEC)}}},
		{Call: unix.SYS_MPROTECT, When: [][]Test{{Without(2, unix.PROT_EXEC)}}},
		{Call: unix.SYS_PRLIMIT64, When: [][]Test{{Nil(2)}}}, // only to read limits
		// never TIOCSTI, which types into the terminal
		OneOf(unix.SYS_IOCTL, 1, unix.TCGETS, unix.TIOCGWINSZ, unix.TIOCINQ),
		// never F_SETOWN and F_SETSIG, which send signals
		OneOf(unix.SYS_FCNTL, 1, unix.F_GETFL, unix.F_SETFL, unix.F_GETFD, unix.F_SETFD, unix.F_DUPFD,
			unix.F_DUPFD_CLOEXEC),
		OneOf(unix.SYS_PRCTL, 0, unix.PR_SET_VMA, unix.PR_SET_NAME),
	})
}

// openFlags is the number of openat(2)'s argument flags.
const openFlags = 2

// Writing are the flags of open(2) with which files can be changed or made.
const Writing = unix.O_ACCMODE | unix.O_CREAT | unix.O_TRUNC | unix.O_APPEND | (unix.O_TMPFILE &^ unix.O_DIRECTORY)

// Reading returns rules for the calls that read files and folders by name. They allow to open files only for reading.
func Reading() []Rule {
	newer := Always(
		unix.SYS_NEWFSTATAT, unix.SYS_STATX, unix.SYS_FSTATFS, unix.SYS_STATFS, unix.SYS_READLINKAT,
		unix.SYS_GETDENTS64, unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2, unix.SYS_GETCWD,
	)
	open := Rule{Call: unix.SYS_OPENAT, When: [][]Test{{Without(openFlags, Writing)}}}
	return slices.Concat(Always(olderReading...), newer, []Rule{open})
}

// Making returns rules for the calls that make new files, and that name, rename and remove files. They do not allow to
// open existing files for writing.
func Making() []Rule {
	const made = Writing | unix.O_EXCL
	return append(Always(unix.SYS_LINKAT, unix.SYS_RENAMEAT, unix.SYS_UNLINKAT, unix.SYS_FCHMOD,
		unix.SYS_CAPGET, unix.SYS_CAPSET), // a thread with a user's rights checks that it has no capability
		Rule{Call: unix.SYS_OPENAT, When: [][]Test{
			{{openFlags, made, unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL}},
			{{openFlags, made, unix.O_WRONLY | unix.O_TMPFILE&^unix.O_DIRECTORY}},
		}})
}
