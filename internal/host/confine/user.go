package confine

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// Become makes this program, in all its threads and for good, a program of a user, with groups besides the user's own,
// and without any capability or new privileges ([NoNewPrivileges]). The program must be root's, or that user's.
func Become(uid, gid uint32, groups []uint32) error {
	// which are in effect in all threads then
	if err := KeepCapabilities(unix.CAP_SETUID, unix.CAP_SETGID); err != nil {
		return err
	}
	if syscall.Geteuid() == 0 {
		if err := setGroups(groups); err != nil {
			return err
		}
	}
	if err := syscall.Setresgid(int(gid), int(gid), int(gid)); err != nil {
		return fmt.Errorf("become group %d: %w", gid, err)
	}
	if err := syscall.Setresuid(int(uid), int(uid), int(uid)); err != nil {
		return fmt.Errorf("become user %d: %w", uid, err)
	}
	return setCapabilities(sets{})
}

func setGroups(groups []uint32) error {
	var all []int
	for _, g := range groups {
		all = append(all, int(g))
	}
	if err := syscall.Setgroups(all); err != nil {
		return fmt.Errorf("set the groups: %w", err)
	}
	return nil
}

// FilesAs gives all threads of a program of root's the rights of a user on files, with groups besides the user's own.
// Capabilities stay in effect. It is for good once nothing can set ids any more ([Allow]). Signals, and the right of
// others to look into the program, go by root's ids as before.
func FilesAs(uid, gid uint32, groups []uint32) error {
	before, err := capabilities()
	if err != nil {
		return err
	}
	if err := setCapabilities(before); err != nil {
		return err
	}
	if err := setGroups(groups); err != nil {
		return err
	}
	// The ids of files follow the effective ones. They are the same in all threads then. That matters because
	// setfsuid(2) returns the earlier id, and psx ends a program with threads that get different results.
	if err := syscall.Setresgid(-1, syscall.Getegid(), -1); err != nil {
		return fmt.Errorf("set the group: %w", err)
	}
	if err := syscall.Setresuid(-1, syscall.Geteuid(), -1); err != nil {
		return fmt.Errorf("set the user: %w", err)
	}
	psx.Syscall3(unix.SYS_SETFSGID, uintptr(gid), 0, 0)
	psx.Syscall3(unix.SYS_SETFSUID, uintptr(uid), 0, 0)
	if now, _, _ := unix.RawSyscall(unix.SYS_SETFSUID, uintptr(uid), 0, 0); uint32(now) != uid {
		return fmt.Errorf("take on the files of user %d: the kernel does not allow it", uid)
	}
	return setCapabilities(before) // those on files have gone out of effect with root's id (capabilities(7))
}
