package process

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// Rights are the ids and capabilities that Linux compares when a user looks into a process (__ptrace_may_access,
// kernel/ptrace.c).
type Rights struct {
	users, groups [3]uint32 // real, effective, saved
	// of its files in /proc: its user, or root where its user may not read them (task_dump_owner, fs/proc/base.c)
	owner     uint32
	permitted CapabilitySet // capabilities that it has, or may take on
}

// ReadRights returns the present rights of a process. It fails as [Proc.Status] does, and with [ErrZombie].
func ReadRights(fs FS, pid int) (r Rights, err error) {
	status, err := fs.Proc(pid).Status()
	if err != nil {
		return r, err
	}
	var of unix.Stat_t
	if err := unix.Stat(fs.Proc(pid).path("maps"), &of); err != nil {
		return r, fs.Proc(pid).failure(err)
	}
	r = Rights{
		users:  [3]uint32{status.UID, status.EUID, status.savedUID},
		groups: [3]uint32{status.GID, status.EGID, status.savedGID},
		owner:  of.Uid, permitted: status.capsPermitted,
	}
	if r.owner != r.users[1] {
		if st, err := fs.Proc(pid).Stat(); err == nil && st.Ended() { // without memory it is root's
			return r, &Error{PID: pid, Kind: ErrZombie}
		}
	}
	return r, nil
}

// RightsOf are those of a user's ordinary process.
func RightsOf(uid uint32) Rights { return Rights{users: [3]uint32{uid, uid, uid}, owner: uid} }

// Covers reports whether a user who may look into a process with rights r may look into one with those of other, too.
// Root may look into all. A process has more rights than its user where it executed a set-user-ID or set-group-ID
// program, or one with capabilities, or became another user.
func (r Rights) Covers(other Rights) bool {
	switch {
	case r.users[1] == 0:
		return true
	case other.users != r.users, !isOne(other.groups) && other.groups != r.groups:
		return false
	case other.owner == r.users[1]:
		return true
	}
	return other.owner == r.owner && other.permitted&^r.permitted == 0
}

func isOne(ids [3]uint32) bool { return ids[0] == ids[1] && ids[0] == ids[2] }

var errMoreRights = errors.New("it has rights that the user of the traced process has not")

// MayLook fails with [ErrNotPermitted] for a process that has rights which these do not cover.
func (r Rights) MayLook(fs FS, pid int) error {
	has, err := ReadRights(fs, pid)
	if err == nil && !r.Covers(has) {
		err = &Error{PID: pid, Kind: ErrNotPermitted, Cause: errors.Join(errMoreRights, syscall.EPERM)}
	}
	return err
}
