// Package process reads Linux's facts about processes. Facts are their identity, their mappings, and which of them run
// Python. The package also reads what a tracer may do on this machine. Other packages know what is in the files and the
// memory of a process: internal/python/cpython the interpreter, internal/python/holders the objects.
//
// All facts come from a proc file system whose root is a parameter, so that tests can read a stored tree. Names, paths
// and command lines belong to the traced process, and are hostile. Reads are bounded. Strings are returned as raw
// bytes, and the code that prints them must escape them. If a process ends between two reads, the error is
// [ErrNoProcess]; there are no incomplete results.
//
// The environment of a process (/proc/PID/environ) has secrets: only variables that a caller names are taken from it.
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
	Root string // the mount point; "" means /proc
	Sys  string // the mount point of sysfs, for [FS.Facts]; "" means /sys
	// Helper opens and reads files on file systems that may not answer. Without one, this program has to wait.
	Helper *Helper
}

// Limits for reads of one process, in bytes.
const (
	maxStat    = 4 << 10
	maxStatus  = 1 << 20 // the line Groups alone may list 65,536 groups
	maxCmdline = 4 << 10
	maxPIDs    = 1 << 22 // PID_MAX_LIMIT, include/linux/threads.h
)

func (fs FS) root() string {
	if fs.Root == "" {
		return "/proc"
	}
	return fs.Root
}

// live reports whether fs is the running system's own /proc, so that its pids can be passed to system calls.
func (fs FS) live() bool { return filepath.Clean(fs.root()) == "/proc" }

// readBounded reads at most limit bytes of a file. truncated reports whether the file has more.
func readBounded(path string, limit int) (data []byte, truncated bool, err error) {
	f, err := openUnpolled(path)
	if err != nil {
		return nil, false, err
	}
	return readAllOf(f, limit)
}

// openUnpolled opens a file for reading with a single system call. [os.Open] makes five more, to find out that Go's
// runtime cannot poll a file of /proc. An agent opens such files all the time.
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

// readAllOf reads at most limit bytes of a file, and closes it. truncated reports whether the file has more.
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

// PIDs returns the ids of all processes that can be seen, in the order of the directory (ascending on Linux). Some of
// the processes may have ended when it returns. It fails if the proc file system itself cannot be read.
func (fs FS) PIDs() ([]int, error) {
	if fs.usesHelper() { // it also sees processes that hidepid hides from this program
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

// usesHelper reports whether the helper opens the files that take a right, see [Helper.TakeOver].
func (fs FS) usesHelper() bool { return fs.live() && fs.Helper.hasTakenOver() }
