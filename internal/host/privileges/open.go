package privileges

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Open opens a regular file or a pipe for reading. It follows links.
func (r *Rights) Open(path string) (f *os.File, err error) {
	err = r.Do(func() error {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return pathError("open", path, err)
		}
		defer unix.Close(fd)
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return pathError("open", path, err)
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG, unix.S_IFIFO:
			f, err = reopen(fd, path, unix.O_RDONLY)
			return err
		}
		return &kindError{path, kind(st.Mode)}
	})
	return f, err
}

// Exists reports whether there is anything at a path that the user can see.
func (r *Rights) Exists(path string) bool {
	return r.Do(func() error {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}) == nil
}

// reopen opens the file of an O_PATH descriptor, which is certainly the file whose kind was checked. It never waits.
func reopen(fd int, path string, flags int) (*os.File, error) {
	open, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), flags|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	return os.NewFile(uintptr(open), path), nil
}

// Special opens the file at a path for writing, if it is a pipe with a reader, a terminal, /dev/null or /dev/full. It
// returns nil if a regular file or nothing is there. It fails with [ErrNotRegular] for anything else, such as a link, a
// folder or another device.
func (r *Rights) Special(path string) (f *os.File, err error) {
	err = r.Do(func() error {
		p, err := r.find(path)
		if err != nil {
			return err
		}
		defer p.close()
		fd, st, err := p.look()
		if fd < 0 {
			return err
		}
		defer unix.Close(fd)
		switch {
		case st.Mode&unix.S_IFMT == unix.S_IFREG:
			return nil
		case st.Mode&unix.S_IFMT == unix.S_IFIFO:
			f, err = r.pipe(fd, &st, path)
			return err
		case st.Mode&unix.S_IFMT == unix.S_IFCHR && harmless(st.Rdev):
			f, err = reopen(fd, path, unix.O_WRONLY)
			return err
		}
		return &kindError{path, kind(st.Mode)}
	})
	return f, err
}

// harmless reports whether opening and writing a device has no other effect, by its numbers in
// Documentation/admin-guide/devices.txt.
func harmless(device uint64) bool {
	major, minor := unix.Major(device), unix.Minor(device)
	memory := major == 1 && (minor == 3 || minor == 7) // null, full
	terminal := major == 4 || major == 5 || major >= 136 && major <= 143
	return memory || terminal
}

// The attempts to open a pipe for writing. Its reader may be a process that is just being started.
const (
	readerTries = 100
	readerWait  = 10 * time.Millisecond
)

// pipe opens a pipe for writing, if root or the user has made it and a process reads from it.
func (r *Rights) pipe(fd int, st *unix.Stat_t, path string) (*os.File, error) {
	if st.Uid != 0 && st.Uid != r.user.UID {
		return nil, &kindError{path, "somebody else's pipe"}
	}
	for try := 0; ; try++ {
		f, err := reopen(fd, path, unix.O_WRONLY)
		if !errors.Is(err, unix.ENXIO) {
			return f, err
		}
		if try == readerTries {
			return nil, pathError("open", path, ErrNobodyReads)
		}
		time.Sleep(readerWait)
	}
}
