package limit

import (
	"bytes"
	"io"
	"strconv"

	"ipytracer/internal/host/confine"
	"ipytracer/internal/host/process"
)

// User has limits that may be set. The kernel wants the real user and group of the program that sets them to be the
// real, effective and saved ones of the process (check_prlimit_permission, kernel/sys.c), or CAP_SYS_RESOURCE, which
// root in a container need not have.
type User struct{ UID, GID uint32 }

// UserOf returns the user whom a process runs as. It fails with [ErrNoRights] for a process with ids that differ, such
// as a set-user-id program.
func UserOf(pid int) (User, error) {
	f, err := proc.Proc(pid).File("status")
	if err != nil {
		return User{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return User{}, &process.Error{PID: pid, Kind: process.ErrNoProcess}
	}
	var u User
	for line := range bytes.Lines(data) {
		var to *uint32
		key, value, _ := bytes.Cut(line, []byte(":"))
		switch string(key) {
		case "Uid":
			to = &u.UID
		case "Gid":
			to = &u.GID
		default:
			continue
		}
		if !alike(to, bytes.Fields(value)) {
			return User{}, &Error{PID: pid, Kind: ErrNoRights}
		}
	}
	return u, nil
}

// alike takes the real, effective and saved id, if they are the same.
func alike(to *uint32, ids [][]byte) bool {
	if len(ids) != 4 || !bytes.Equal(ids[0], ids[1]) || !bytes.Equal(ids[0], ids[2]) {
		return false
	}
	n, err := strconv.ParseUint(string(ids[0]), 10, 32)
	*to = uint32(n)
	return err == nil
}

// Become makes this program that user for good, without groups and without any capability. It needs to be root, or that
// user.
func Become(u User) error { return confine.Become(u.UID, u.GID, nil) }
