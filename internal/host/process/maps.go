package process

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Limits for one /proc/PID/maps.
const (
	maxMapLines = 1 << 18
	maxMapBytes = 16 << 20
	maxMapLine  = 64 << 10 // a path has at most PATH_MAX bytes, and four times as many if all are escaped
)

var errCrowd = errors.New("the list of its mappings, with their names, has more than 16 MiB")

// Perm is the set of permissions of a mapping.
type Perm uint8

// The permissions of a mapping.
const (
	Read Perm = 1 << iota
	Write
	Exec
	Shared // stores reach the file; without it the mapping is private
)

// String returns the four letters of /proc/PID/maps, such as "r-xp".
func (p Perm) String() string {
	text := []byte("---p")
	for i, c := range []byte("rwx") {
		if p&(1<<i) != 0 {
			text[i] = c
		}
	}
	if p&Shared != 0 {
		text[3] = 's'
	}
	return string(text)
}

// FileID identifies a file on this machine as long as the file is open or mapped somewhere: by the device in
// /proc/PID/maps, and the inode. On btrfs and overlayfs, stat(2) can return another device for the same file.
type FileID struct {
	Major, Minor uint32
	Inode        uint64
}

// pageSize is the size of a page of memory in bytes. Mappings begin and end with a page.
var pageSize = uint64(os.Getpagesize())

// Mapping is one line of /proc/PID/maps (proc_pid_maps(5)).
type Mapping struct {
	Start, End uint64 // addresses in the process, End excluded
	Offset     uint64 // into the file, bytes
	Perm       Perm
	File       FileID // zero for memory without a file

	// Path is the name of the file, or a name of Linux's own such as "[heap]". The process chooses it, so it is only a
	// hint. The path begins at this program's root if the file is below that. Else it begins at the root of the file's
	// mount namespace, which a container sees as its own root; in a chroot it also has the chroot's directory (d_path,
	// fs/d_path.c). Only newlines are escaped, as \012, so a name with these four bytes looks the same. Path is as
	// Linux wrote it.
	Path    string
	Deleted bool // Linux wrote " (deleted)" behind the name; Path does not have that
}

// Maps returns all mappings of a process in order of address. Linux reads the list piece by piece: if the process maps
// and unmaps meanwhile, a mapping may be there twice or not at all. Kernel threads and zombies have no mappings;
// without privileges, the error for a zombie may be [ErrZombie].
func (i Image) Maps() ([]Mapping, error) {
	var mappings []Mapping
	for m, err := range i.Mappings() {
		if err != nil {
			return nil, err
		}
		mappings = append(mappings, m)
	}
	return mappings, nil
}

// Mappings yields what [Image.Maps] returns, one mapping at a time. An error ends the sequence. With a Helper, a
// process with too many mappings is not read again for a while.
func (i Image) Mappings() iter.Seq2[Mapping, error] {
	return func(yield func(Mapping, error) bool) {
		if i.proc.pid <= 0 {
			yield(Mapping{}, &Error{PID: i.proc.pid, Kind: ErrNoProcess})
			return
		}
		helper := i.proc.fs.Helper
		if helper != nil && helper.pace.isCrowded(i.proc.pid) {
			yield(Mapping{}, &Error{PID: i.proc.pid, Kind: ErrTooLarge, Cause: errCrowd})
			return
		}
		f, err := i.proc.open("maps")
		if err != nil {
			yield(Mapping{}, i.proc.failure(err))
			return
		}
		defer f.Close()
		began := time.Now()
		for m, err := range parseMaps(f) {
			if errors.Is(err, ErrTooLarge) && helper != nil {
				helper.pace.noteCrowd(i.proc.pid, began)
			}
			switch {
			case errors.Is(err, ErrTooLarge):
				err = &Error{PID: i.proc.pid, Kind: err, Cause: errCrowd}
			case errors.Is(err, ErrMalformed):
				err = &Error{PID: i.proc.pid, Kind: err}
			default:
				err = i.proc.failure(err)
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

// parseMaps yields the mappings of a maps file, within the limits. Besides errors of reading, its errors are
// ErrTooLarge and ErrMalformed themselves.
func parseMaps(r io.Reader) iter.Seq2[Mapping, error] {
	return func(yield func(Mapping, error) bool) {
		limited := &io.LimitedReader{R: r, N: maxMapBytes}
		lines := bufio.NewScanner(limited)
		lines.Buffer(make([]byte, 0, 8<<10), maxMapLine)
		lines.Split(splitLines)
		count := 0
		for lines.Scan() {
			count++
			m, ok := parseMapping(lines.Bytes())
			if count > maxMapLines || limited.N == 0 {
				yield(Mapping{}, ErrTooLarge)
				return
			}
			if !ok {
				yield(Mapping{}, ErrMalformed)
				return
			}
			if !yield(m, nil) {
				return
			}
		}
		err := lines.Err()
		if errors.Is(err, bufio.ErrTooLong) {
			err = ErrTooLarge
		}
		if err != nil {
			yield(Mapping{}, err)
		}
	}
}

// splitLines splits as bufio.ScanLines does, but keeps carriage returns, which may end a file's name.
func splitLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// parseMapping parses a line: "start-end perms offset major:minor inode   path".
func parseMapping(line []byte) (Mapping, bool) {
	var m Mapping
	var major, minor uint64
	c := cursor{rest: line, good: true}
	m.Start = c.number(16, '-')
	m.End = c.number(16, ' ')
	m.Perm = c.perm()
	m.Offset = c.number(16, ' ')
	major = c.number(16, ':')
	minor = c.number(16, ' ')
	m.File.Inode = c.number(10, ' ')
	if !c.good || m.End <= m.Start || major >= 1<<32 || minor >= 1<<32 {
		return Mapping{}, false
	}
	m.File.Major, m.File.Minor = uint32(major), uint32(minor)
	m.Path = string(bytes.TrimLeft(c.rest, " "))
	if m.File.Inode != 0 {
		m.Path, m.Deleted = strings.CutSuffix(m.Path, " (deleted)")
	}
	return m, true
}

// cursor takes fields off the front of a line. good becomes false, and stays so, at the first field that does not fit.
type cursor struct {
	rest []byte
	good bool
}

// number takes a number up to a separator. A number before a blank may also end with the line.
func (c *cursor) number(base uint64, separator byte) uint64 {
	var n uint64
	i := 0
	for ; i < len(c.rest) && c.rest[i] != separator; i++ {
		d := digit(c.rest[i])
		if d >= base || n > (^uint64(0)-d)/base {
			c.good = false
			return 0
		}
		n = n*base + d
	}
	if i == 0 || i == len(c.rest) && separator != ' ' {
		c.good = false
		return 0
	}
	c.rest = c.rest[min(i+1, len(c.rest)):]
	return n
}

// digit returns the value of a hexadecimal digit, or 16 for any other byte.
func digit(b byte) uint64 {
	switch {
	case b >= '0' && b <= '9':
		return uint64(b - '0')
	case b >= 'a' && b <= 'f':
		return uint64(b-'a') + 10
	}
	return 16
}

func (c *cursor) perm() Perm {
	if len(c.rest) < 5 || c.rest[4] != ' ' {
		c.good = false
		return 0
	}
	var p Perm
	for i, letter := range []byte("rwxs") {
		if c.rest[i] == letter {
			p |= 1 << i
		}
	}
	c.rest = c.rest[5:]
	return p
}

// Image is the memory image of a process: its mappings, and the files that are mapped.
type Image struct {
	proc Proc
}

// Image returns the memory image of the process that has this pid. Its methods find out whether there is one.
func (fs FS) Image(pid int) Image { return Image{fs.Proc(pid)} }

// Route is the way in which a mapped file was opened.
type Route string

// The routes, the best one first. Each opens the very file that is mapped, because device and inode are compared.
const (
	// ByMapFiles is /proc/PID/map_files, for any file, also a deleted or hidden one. It needs CAP_SYS_ADMIN or
	// CAP_CHECKPOINT_RESTORE.
	ByMapFiles Route = "map_files"
	ByExe      Route = "exe"  // /proc/PID/exe, for the executable only; needs ptrace access
	ByRoot     Route = "root" // the path, looked up below /proc/PID/root without leaving it
	ByPath     Route = "path" // the path, looked up from this program's root: for files of a chroot
)

// File is a file that can be read. Reading fails with [ErrNoAnswer] if the file system's server does not answer. The
// descriptor names the file to Linux; callers must not read from it.
type File interface {
	io.ReaderAt
	io.Closer
	Fd() uintptr
}

// MappedFile is a file that a process maps, held open. The caller closes File.
type MappedFile struct {
	File    File        // open for reading
	Stat    unix.Stat_t // at the time of opening
	Mapping Mapping
	Route   Route
}
