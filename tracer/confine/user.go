package confine

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Become makes this program, in all its threads and for good, one of a user, with groups besides the user's own, and without any
// capability. It needs to be root, or that user.
func Become(uid, gid uint32, groups []uint32) error {
	if err := KeepCapabilities(unix.CAP_SETUID, unix.CAP_SETGID); err != nil && !errors.Is(err, ErrBounding) {
		return err
	}
	if syscall.Geteuid() == 0 {
		var all []int
		for _, g := range groups {
			all = append(all, int(g))
		}
		if err := syscall.Setgroups(all); err != nil {
			return fmt.Errorf("set the groups: %w", err)
		}
	}
	if err := syscall.Setresgid(int(gid), int(gid), int(gid)); err != nil {
		return fmt.Errorf("become group %d: %w", gid, err)
	}
	if err := syscall.Setresuid(int(uid), int(uid), int(uid)); err != nil {
		return fmt.Errorf("become user %d: %w", uid, err)
	}
	if err := KeepCapabilities(); err != nil && !errors.Is(err, ErrBounding) {
		return err
	}
	return NoNewPrivileges()
}
