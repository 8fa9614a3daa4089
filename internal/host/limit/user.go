package limit

import (
	"ipytracer/internal/host/confine"
)

// User has limits that may be set. The kernel wants the real user and group of the program that sets them to be the
// real, effective and saved ones of the process (check_prlimit_permission, kernel/sys.c), or CAP_SYS_RESOURCE, which
// root in a container need not have.
type User struct{ UID, GID uint32 }

// UserOf returns the user whom a process runs as. It fails with [ErrNoRights] for a process with ids that differ, such
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

// Become makes this program that user for good, without groups and without any capability. It needs to be root, or that
// user.
func Become(u User) error { return confine.Become(u.UID, u.GID, nil) }
