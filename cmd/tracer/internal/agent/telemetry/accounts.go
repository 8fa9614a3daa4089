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

// Bounds on reading /etc/subuid.
const (
	maxFile  = 1 << 20 // bytes
	maxRange = 20_000  // lines
	readAge  = 10 * time.Second
)

// Accounts finds the user who is charged for a process, whom the process cannot choose. The process's own user ID is
// not enough: in a user namespace, a user may take any of 65,536 subordinate user IDs (subuid(5)). The zero value reads
// /etc/subuid. Any goroutine may use it.
type Accounts struct {
	// Open opens the file; nil: /etc/subuid as process 1 sees it, or else as this process does.
	Open func() (io.ReadCloser, error)
	// Known reports whether a user has an account on this machine; nil: by the user database.
	Known func(uid uint32) bool
	// Number returns the user with a name; nil: by the user database.
	Number func(name string) (uid uint32, ok bool)

	mu       sync.Mutex
	lastRead time.Time
	ranges   []subordinates
}

// subordinates is a range of user IDs that a user owns.
type subordinates struct {
	owner       string // a name or a number
	first, last uint64
}

// Login returns the user who is charged for a process, by its user and its control group. It is the first of:
//
//  1. the owner of the range in /etc/subuid that has the user: only root writes that file;
//  2. the user itself, if it has an account on this machine: nobody becomes such a user without the right to;
//  3. the user of the systemd slice that has the process, if that is not root: subordinate user IDs can also come from
//     a directory service;
//  4. the user itself.
//
// Linux' login user (/proc/PID/loginuid) does not count: a process without one may set any.
func (b *Accounts) Login(uid uint32, group string) uint32 {
	if owner, ok := b.ownerOf(uid); ok {
		return owner
	}
	if owner, ok := sliceOf(group); ok && owner != 0 && owner != uid && !b.hasAccount(uid) {
		return owner
	}
	return uid
}

// sliceOf returns the user of the slice that has a control group. Nobody but that user and root can make groups there.
func sliceOf(group string) (uid uint32, ok bool) {
	parts := strings.Split(path.Clean("/"+group), "/")
	if len(parts) < 3 || parts[1] != "user.slice" {
		return 0, false
	}
	text, begins := strings.CutPrefix(parts[2], "user-")
	text, ends := strings.CutSuffix(text, ".slice")
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), begins && ends && err == nil
}

func (b *Accounts) hasAccount(uid uint32) bool {
	if b.Known != nil {
		return b.Known(uid)
	}
	_, err := user.LookupId(strconv.Itoa(int(uid)))
	return err == nil
}

// ownerOf returns the owner of a subordinate user ID, if the owner has an account.
func (b *Accounts) ownerOf(uid uint32) (owner uint32, ok bool) {
	for _, r := range b.subuidRanges() {
		if uint64(uid) < r.first || uint64(uid) > r.last {
			continue
		}
		if owner, ok := b.userNumber(r.owner); ok {
			return owner, true
		}
	}
	return 0, false
}

// subuidRanges returns the ranges of the file, which it reads again after readAge.
func (b *Accounts) subuidRanges() []subordinates {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.lastRead) > readAge {
		b.lastRead, b.ranges = time.Now(), b.load()
	}
	return b.ranges
}

// load reads the file: lines of NAME-OR-NUMBER:FIRST:COUNT. It leaves out other lines, and ranges with root. It does
// not look up the names, since there may be thousands.
func (b *Accounts) load() (ranges []subordinates) {
	f, err := b.open()
	if err != nil {
		return nil
	}
	defer f.Close()
	for s := bufio.NewScanner(io.LimitReader(f, maxFile)); s.Scan() && len(ranges) < maxRange; {
		parts := strings.Split(strings.TrimSpace(s.Text()), ":")
		if len(parts) != 3 {
			continue
		}
		first, err := strconv.ParseUint(parts[1], 10, 32)
		count, countErr := strconv.ParseUint(parts[2], 10, 32)
		if err == nil && countErr == nil && parts[0] != "" && first > 0 && count > 0 {
			ranges = append(ranges, subordinates{strings.Clone(parts[0]), first, first + count - 1})
		}
	}
	return ranges
}

// open opens the file. In a container that sees the machine's processes, it opens the machine's file.
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

func (b *Accounts) userNumber(name string) (uid uint32, ok bool) {
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
