package limit

import (
	"ipytracer/internal/host/confine"
)

// User is the user and the group of a process whose limits may be set. Linux wants the real ids of the program that
// sets a limit to be the real, effective and saved ids of the process (check_prlimit_permission, kernel/sys.c). Else it
// wants CAP_SYS_RESOURCE, which root in a container need not have.
type User struct{ UID, GID uint32 }

// UserOf returns the user as whom a process runs. It fails with [ErrNoRights] for a process with ids that differ, such
// as a set-user-id program.
func UserOf(pid int) (User, error) {
	status, err := proc.Proc(pid).Status()
	if err != nil {
		return User{}, err
	}
	uid, gid, ok := status.User()
	if !ok {
		return User{}, &Error{PID: pid, Kind: ErrNoRights}
	}
	return User{uid, gid}, nil
}

// Become makes this program a program of the user, for good, without groups and without any capability. The program
// must be root's, or the user's.
func Become(u User) error { return confine.Become(u.UID, u.GID, nil) }
