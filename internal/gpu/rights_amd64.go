package gpu

import "golang.org/x/sys/unix"

// Calls that machines of later architectures have only newer forms of.
var (
	older = []uintptr{
		unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_GETDENTS, unix.SYS_SELECT, unix.SYS_TIME, unix.SYS_PIPE,
		unix.SYS_EVENTFD,
	}
	olderRefused = map[unix.Errno][]uintptr{
		unix.EEXIST: {unix.SYS_MKDIR},
		unix.EPERM:  {unix.SYS_MKNOD, unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN},
		unix.EACCES: {unix.SYS_UNLINK, unix.SYS_SYMLINK},
		unix.EAGAIN: {unix.SYS_FORK, unix.SYS_VFORK},
	}
)

// opening are the calls that open files, by the argument with the flags.
var opening = map[uintptr]int{unix.SYS_OPENAT: 2, unix.SYS_OPEN: 1}
