// Package process reads Linux's facts about processes: their identity, their mappings, which of them run Python; and
// the tracer's possibilities on this machine. The contents of a process's files are not its business: the interpreter
// is internal/python/cpython's, the objects are internal/python/holders'.
//
// Everything comes from a proc file system with a root that is a parameter, so that the same code reads /proc and a
// stored tree. Nothing read here is trusted: names, paths and command lines belong to the traced process. Reads are
// bounded, and strings are handed over as the raw bytes they are; the code that prints them escapes them. A process may
// end between any two reads; that is [ErrNoProcess], never a half-filled result.
//
// The environment of a process (/proc/PID/environ) holds secrets: only variables asked for by name are ever taken out
// of it.
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
	// Helper opens and reads files with a file system that may not answer; nil: this program waits for them itself.
	Helper *Helper
}

// The bounds on reads of one process. The kernel produces more only if somebody makes it.
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

// live reports whether this is the running system's own /proc, so that system calls on its pids mean the same
// processes.
func (fs FS) live() bool { return filepath.Clean(fs.root()) == "/proc" }

func readBounded(path string, limit int) (data []byte, truncated bool, err error) {
	f, err := openUnpolled(path)
	if err != nil {
		return nil, false, err
	}
	return readAllOf(f, limit)
}

// openUnpolled opens a file for reading. [os.Open] takes five more system calls, to learn that Go's runtime cannot wait
// for a file of /proc; an agent reads such files for ever.
func openUnpolled(path string) (*os.File, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			return os.NewFile(uintptr(fd), path), nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
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

// keeps reports whether the helper opens files that take a right.
func (fs FS) keeps() bool { return fs.live() && fs.Helper.hasTakenOver() }
