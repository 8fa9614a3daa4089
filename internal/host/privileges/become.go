package privileges

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// Become makes this program a program of a user with some further groups, in all its threads and for good. It keeps no
// capability, and can gain no privileges ([NoNewPrivileges]). The program must be root's, or that user's.
func Become(uid, gid uint32, groups []uint32) error {
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

// setGroups sets the further groups of all threads.
func setGroups(groups []uint32) error {
	var gids []int
	for _, g := range groups {
		gids = append(gids, int(g))
	}
	if err := syscall.Setgroups(gids); err != nil {
		return fmt.Errorf("set the groups: %w", err)
	}
	return nil
}

// FilesAs gives all threads of a program of root's the rights of a user, with some further groups, on files.
// Capabilities stay in effect. It is for good once [AllowCalls] forbids to set ids. Signals to the program, and looks
// into it, still need root's rights.
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
	// Setting the effective ids also sets the file system ids, to the same values in all threads. That matters because
	// setfsuid(2) returns the earlier id, and psx ends a program whose threads get different results.
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
	return setCapabilities(before) // without root's id, those on files are out of effect (capabilities(7))
}
