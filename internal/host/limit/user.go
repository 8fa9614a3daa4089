package limit

import (
	"ipytracer/internal/host/privileges"
)

// User is the user and the group of a process whose limits are set. A program may set a limit if its real ids are the
// real, effective and saved ids of the process (check_prlimit_permission, kernel/sys.c). Any other program needs
// CAP_SYS_RESOURCE, which root in a container may lack.
type User struct{ UID, GID uint32 }

// UserOf returns the user of a process. It fails with [ErrNoRights] for a process with different ids, such as that of a
// set-user-ID program.
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

// Become makes this program a program of the user, for good, without further groups and without capabilities. The
// program must be root's, or the user's.
func Become(u User) error { return privileges.Become(u.UID, u.GID, nil) }
