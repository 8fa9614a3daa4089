package privileges

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// User is a user with whose rights files are opened.
type User struct {
	UID, GID uint32
	Groups   []uint32 // without GID
}

// Self returns the user who runs the program, by its real ids.
func Self() (User, error) {
	groups, err := os.Getgroups()
	if err != nil {
		return User{}, fmt.Errorf("read the groups: %w", err)
	}
	u := User{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
	for _, g := range groups {
		u.Groups = append(u.Groups, uint32(g))
	}
	return u, nil
}

// Rights are a user's rights on files. The methods may be called from any goroutine, also after the program has given
// up its own privileges.
type Rights struct {
	user User
	jobs chan job // to the thread with the user's rights; nil: the program's own rights are used
}

// job is a function that the thread with the user's rights runs.
type job struct {
	do   func() error
	done chan error
}

// RightsOf returns the rights of a user. It starts a thread that has these rights until Close. If the user is root and
// the program is root's, it starts none. For any other user, the program must run as root or as that user.
func RightsOf(u User) (*Rights, error) {
	r := &Rights{user: u}
	if u.UID == 0 && os.Geteuid() == 0 {
		return r, nil
	}
	r.jobs = make(chan job)
	begun := make(chan error)
	go OnOwnThread(func() { r.serve(begun) })
	if err := <-begun; err != nil {
		return nil, fmt.Errorf("take on the rights of user %d: %w", u.UID, err)
	}
	return r, nil
}

// Close ends the thread. No other method may be called afterwards.
func (r *Rights) Close() {
	if r.jobs != nil {
		close(r.jobs)
	}
}

// Do runs a function with the user's rights. Goroutines that the function starts do not have these rights.
func (r *Rights) Do(f func() error) error {
	if r.jobs == nil {
		return f()
	}
	j := job{do: f, done: make(chan error, 1)}
	r.jobs <- j
	return <-j.done
}

// serve takes on the user's rights, reports that on begun, and runs jobs until Close.
func (r *Rights) serve(begun chan<- error) {
	if err := become(r.user); err != nil {
		begun <- err
		return
	}
	begun <- nil
	for j := range r.jobs {
		// Code that sets the capabilities of all threads may have put this thread's into effect again.
		if err := disarm(); err != nil {
			j.done <- fmt.Errorf("do without capabilities: %w", err)
			continue
		}
		j.done <- j.do()
	}
}

// become gives only this thread a user's groups and file system ids. It sets the groups only if the program is root's:
// a program of the user's has the right groups already.
func become(u User) error {
	if os.Geteuid() == 0 {
		groups := append([]uint32{u.GID}, u.Groups...)
		first := unsafe.Pointer(&groups[0])
		_, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(first), 0)
		if errno != 0 {
			return fmt.Errorf("set the groups: %w", errno)
		}
	}
	if err := setID(unix.SYS_SETFSGID, u.GID); err != nil {
		return fmt.Errorf("set the group: %w", err)
	}
	if err := setID(unix.SYS_SETFSUID, u.UID); err != nil {
		return fmt.Errorf("set the user: %w", err)
	}
	return disarm()
}

var errRefused = errors.New("the kernel does not allow it")

// setID calls setfsuid(2) or setfsgid(2). These report no error, so setID calls them twice: the second call returns the
// id that the first one has set.
func setID(call uintptr, id uint32) error {
	unix.RawSyscall(call, uintptr(id), 0, 0)
	if now, _, _ := unix.RawSyscall(call, uintptr(id), 0, 0); uint32(now) != id {
		return errRefused
	}
	return nil
}

// disarm takes every capability of this thread out of effect. They stay permitted, because package psx wants all
// threads of a program to have the same permitted capabilities.
func disarm() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return err
	}
	sets[0].Effective, sets[1].Effective = 0, 0
	return unix.Capset(&header, &sets[0])
}
