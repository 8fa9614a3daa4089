package telemetry

import (
	"bufio"
	"io"
	"os"
	"os/user"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Bounds of what is read.
const (
	maxFile  = 1 << 20
	maxRange = 20_000
	readAge  = 10 * time.Second
)

// Accounts knows who owns subordinate users: a process counts to somebody whom it cannot choose. A user of Linux is not
// enough: each has 65,536 subordinate ones (subuid(5)), and may be any of them in a user namespace. The zero value
// reads /etc/subuid. It is for any goroutine.
type Accounts struct {
	// Open opens the file; nil: as the first process of the machine sees it, or else this one.
	Open func() (io.ReadCloser, error)
	// Known reports whether a user has an account on this machine, and Number returns the user with a name; nil: by the
	// user database.
	Known  func(uid uint32) bool
	Number func(name string) (uid uint32, is bool)

	mu     sync.Mutex
	read   time.Time
	ranges []subordinates
}

// subordinates are a range of users that another one owns, by name or number.
type subordinates struct {
	owner       string
	first, last uint64
}

// Login returns the user who is charged for a process, by its user and its control group. The order is:
//
//  1. the owner of the range in /etc/subuid that has the user, since root alone writes that file;
//  2. the user itself, if it has an account on this machine: nobody becomes such a user without the right to;
//  3. the user of the slice of systemd's that the process is in, if that is not root's: subordinate users can also
//     come from a directory that is no file;
//  4. the user itself.
//
// The login user that Linux notes (/proc/PID/loginuid) is not asked: a process that has none may give itself any.
func (b *Accounts) Login(uid uint32, group string) uint32 {
	if owner, is := b.ownerOf(uid); is {
		return owner
	}
	if owner, is := sliceOf(group); is && owner != 0 && owner != uid && !b.known(uid) {
		return owner
	}
	return uid
}

// sliceOf returns the user of the slice in which a control group is. Nobody else can make one at that place.
func sliceOf(group string) (uid uint32, is bool) {
	parts := strings.Split(path.Clean("/"+group), "/")
	if len(parts) < 3 || parts[1] != "user.slice" {
		return 0, false
	}
	text, begins := strings.CutPrefix(parts[2], "user-")
	text, ends := strings.CutSuffix(text, ".slice")
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), begins && ends && err == nil
}

func (b *Accounts) known(uid uint32) bool {
	if b.Known != nil {
		return b.Known(uid)
	}
	_, err := user.LookupId(strconv.Itoa(int(uid)))
	return err == nil
}

// ownerOf returns the owner of a subordinate user, if the owner has an account.
func (b *Accounts) ownerOf(uid uint32) (owner uint32, is bool) {
	for _, r := range b.all() {
		if uint64(uid) < r.first || uint64(uid) > r.last {
			continue
		}
		if owner, is := b.number(r.owner); is {
			return owner, true
		}
	}
	return 0, false
}

// all returns the ranges of the file.
func (b *Accounts) all() []subordinates {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.read) > readAge {
		b.read, b.ranges = time.Now(), b.load()
	}
	return b.ranges
}

// load reads the file: lines of NAME-OR-NUMBER:FIRST:COUNT. It leaves out other lines, and ranges with root. It
// looks up no name: there may be thousands.
func (b *Accounts) load() (all []subordinates) {
	f, err := b.open()
	if err != nil {
		return nil
	}
	defer f.Close()
	for s := bufio.NewScanner(io.LimitReader(f, maxFile)); s.Scan() && len(all) < maxRange; {
		parts := strings.Split(strings.TrimSpace(s.Text()), ":")
		if len(parts) != 3 {
			continue
		}
		first, err := strconv.ParseUint(parts[1], 10, 32)
		count, err2 := strconv.ParseUint(parts[2], 10, 32)
		if err == nil && err2 == nil && parts[0] != "" && first > 0 && count > 0 {
			all = append(all, subordinates{strings.Clone(parts[0]), first, first + count - 1})
		}
	}
	return all
}

// open opens the file. An agent in a container that sees the machine's processes has the machine's file.
func (b *Accounts) open() (io.ReadCloser, error) {
	if b.Open != nil {
		return b.Open()
	}
	f, err := os.Open("/proc/1/root/etc/subuid")
	if err != nil {
		f, err = os.Open("/etc/subuid")
	}
	return f, err
}

func (b *Accounts) number(name string) (uid uint32, is bool) {
	if n, err := strconv.ParseUint(name, 10, 32); err == nil {
		return uint32(n), true
	}
	if b.Number != nil {
		return b.Number(name)
	}
	u, err := user.Lookup(name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(u.Uid, 10, 32)
	return uint32(n), err == nil
}
