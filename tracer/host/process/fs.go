// Package process reads what Linux says about processes: who they are, what they map, which of them run Python, and
// what this machine lets a tracer do. What the files of a process contain is not its business: the interpreter is
// tracer/python/cpython's, the objects are tracer/python/holders'.
//
// Everything comes from a proc file system whose root is a parameter, so that the same code reads /proc and a
// stored tree. Nothing read here is trusted: names, paths and command lines belong to the process that is looked
// at. Reads are bounded, and strings are handed over as the raw bytes they are; whoever prints them escapes them.
// A process may end between any two reads; that is [ErrNoProcess], never a half-filled result.
//
// The environment of a process (/proc/PID/environ) holds secrets: only variables asked for by name are ever taken out of it.
package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// FS is a proc file system.
type FS struct {
	Root string // where it is mounted; "" means /proc
	Sys  string // where sysfs is mounted, for [FS.Facts]; "" means /sys
	// Helper opens and reads files whose file system may not answer; nil: they are waited for.
	Helper *Helper
}

// The bounds on what is read of one process. The kernel can produce more only if somebody makes it.
const (
	maxStat    = 4 << 10
	maxStatus  = 1 << 20 // the Groups line alone may list 65536 groups
	maxCmdline = 4 << 10
	maxPIDs    = 1 << 22 // PID_MAX_LIMIT, include/linux/threads.h
)

func (fs FS) root() string {
	if fs.Root == "" {
		return "/proc"
	}
	return fs.Root
}

// live says whether this is the running system's own /proc, so that system calls on its pids mean something.
func (fs FS) live() bool { return filepath.Clean(fs.root()) == "/proc" }

func (fs FS) path(pid int, name string) string {
	return fs.root() + "/" + strconv.Itoa(pid) + "/" + name
}

// read returns at most limit bytes of a file of a process, and whether there was more.
func (fs FS) read(pid int, name string, limit int) (data []byte, truncated bool, err error) {
	if pid <= 0 {
		return nil, false, &Error{PID: pid, Kind: ErrNoProcess}
	}
	data, truncated, err = readBounded(fs.path(pid, name), limit)
	if err != nil && fs.keeps() { // a /proc that hides strangers (hidepid) may show them to the helper
		var f *os.File
		if f, err = fs.Helper.file(pid, name); err == nil {
			data, truncated, err = readAllOf(f, limit)
		}
	}
	if err != nil {
		return nil, false, fs.failure(pid, err)
	}
	return data, truncated, nil
}

func readBounded(path string, limit int) (data []byte, truncated bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	return readAllOf(f, limit)
}

// readAllOf reads a file up to a limit, and closes it.
func readAllOf(f *os.File, limit int) (data []byte, truncated bool, err error) {
	defer f.Close()
	buf := make([]byte, 0, min(limit+1, 4<<10))
	for len(buf) <= limit {
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, min(2*cap(buf), limit+1)), buf...)
		}
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			return buf, false, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	return buf[:limit], true, nil
}

// failure says what an error on a file of a process means for the process.
func (fs FS) failure(pid int, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*Error)):
		return err
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESRCH), errors.Is(err, unix.ENOTDIR):
		// A /proc mounted with hidepid has no directory for strangers: kill(2) still tells them from the absent.
		if fs.live() && errors.Is(unix.Kill(pid, 0), unix.EPERM) {
			return &Error{PID: pid, Kind: ErrNotPermitted, Cause: err}
		}
		return &Error{PID: pid, Kind: ErrNoProcess, Cause: err}
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return &Error{PID: pid, Kind: fs.refusal(pid), Cause: err}
	}
	return fmt.Errorf("process %d: %w", pid, err)
}

// refusal says why a process could not be looked into. Without its memory an ending process belongs to root
// (task_dump_owner, fs/proc/base.c), so its own user is refused too; stat stays open to everybody.
func (fs FS) refusal(pid int) error {
	data, _, err := readBounded(fs.path(pid, "stat"), maxStat)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return ErrNoProcess
	}
	if st, ok := parseStat(data); ok && st.Ended() {
		return ErrZombie
	}
	return ErrNotPermitted
}

// PIDs returns the ids of all processes that can be seen, as the directory lists them (ascending on Linux).
// Some may have ended by the time it returns. It fails when the proc file system itself cannot be read.
func (fs FS) PIDs() ([]int, error) {
	if fs.keeps() { // to whom a /proc with hidepid shows strangers
		return fs.Helper.pids()
	}
	dir, err := os.Open(fs.root())
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer dir.Close()
	var pids []int
	for len(pids) < maxPIDs {
		names, err := dir.Readdirnames(512)
		for _, name := range names {
			if pid, ok := parsePID(name); ok {
				pids = append(pids, pid)
			}
		}
		if errors.Is(err, io.EOF) {
			return pids, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list processes: %w", err)
		}
	}
	return pids, nil
}

func parsePID(name string) (int, bool) {
	if name == "" || name[0] < '1' || name[0] > '9' {
		return 0, false
	}
	pid, err := strconv.ParseInt(name, 10, 32)
	return int(pid), err == nil
}

// File opens a file of a process's directory, such as "smaps", for reading. It fails with [ErrNoProcess] or [ErrNotPermitted].
func (fs FS) File(pid int, name string) (*os.File, error) {
	if pid <= 0 {
		return nil, &Error{PID: pid, Kind: ErrNoProcess}
	}
	f, err := fs.open(pid, name)
	if err != nil {
		return nil, fs.failure(pid, err)
	}
	return f, nil
}

// open opens a file of a process's directory, or has it opened. The error is for [FS.failure].
func (fs FS) open(pid int, name string) (*os.File, error) {
	if fs.keeps() {
		return fs.Helper.file(pid, name)
	}
	return os.Open(fs.path(pid, name))
}

// keeps says whether the helper opens what takes a right.
func (fs FS) keeps() bool { return fs.live() && fs.Helper.hasTakenOver() }

// link reads a symbolic link of a process's directory.
func (fs FS) link(pid int, name string) (string, error) {
	if fs.keeps() {
		return fs.Helper.link(pid, name)
	}
	return os.Readlink(fs.path(pid, name))
}
