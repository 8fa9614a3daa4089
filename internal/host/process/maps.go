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

// The bounds on one /proc/PID/maps. A path is at most PATH_MAX bytes, four times that with every byte escaped.
const (
	maxMapLines = 1 << 18
	maxMapBytes = 16 << 20
	maxMapLine  = 64 << 10
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

// String gives the four letters of /proc/PID/maps, such as "r-xp".
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

// FileID names a file on this machine while something holds it open or mapped: the device of its file system as
// the kernel shows it in /proc/PID/maps, and its inode. stat(2) can give another device for the same file on
// btrfs and overlayfs.
type FileID struct {
	Major, Minor uint32
	Inode        uint64
}

// pageSize is the size of a page of memory, in bytes. What is mapped begins and ends with one.
var pageSize = uint64(os.Getpagesize())

// Mapping is one line of /proc/PID/maps (proc_pid_maps(5)).
type Mapping struct {
	Start, End uint64 // addresses in the process, End excluded
	Offset     uint64 // into the file, bytes
	Perm       Perm
	File       FileID // zero for memory without a file

	// Path is the name of the file, or one of the kernel's own such as "[heap]". It is a hint and never an identity:
	// the process chooses it. A file below our own root is named from there, any other from the root of its mount
	// namespace: as a container sees itself, but with the directory of a chroot in front (d_path, fs/d_path.c). Only
	// newlines are escaped, as \012, so those four bytes in a real name look the same as a newline; Path is left as the
	// kernel wrote it.
	Path    string
	Deleted bool // the kernel ended the name with " (deleted)", which Path no longer has
}

// Maps returns all mappings of a process in order of address. The kernel gives a consistent picture only piece by
// piece: a process that maps and unmaps meanwhile may show a mapping twice or not at all. Kernel threads and zombies
// have none; without privileges, the error may be [ErrZombie] instead. It fails with [ErrNoProcess], [ErrNotPermitted],
// [ErrTooLarge] or [ErrMalformed].
func (i Image) Maps() ([]Mapping, error) {
	var all []Mapping
	for m, err := range i.Mappings() {
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// Mappings is [Image.Maps] one at a time, without holding them. An error ends the sequence. With a Helper, a process
// with too many of them is not read again for a while.
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

// parseMaps yields the lines of a maps file within the bounds. Its own errors are the bare sentinels.
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

// splitLines is bufio.ScanLines, but keeps carriage returns, which may end a file's name.
func splitLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// parseMapping reads "start-end perms offset major:minor inode   path".
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

// cursor takes fields off the front of a line; good turns false for ever at the first that does not fit.
type cursor struct {
	rest []byte
	good bool
}

// number takes digits of the base up to the separator, or up to the end of the line for a blank one.
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

// Image is the memory image of one process as /proc shows it: its mappings, and the files behind them.
type Image struct {
	proc Proc
}

// Image returns the memory image of the process that has this pid. Its methods find out whether there is one.
func (fs FS) Image(pid int) Image { return Image{fs.Proc(pid)} }

// Route is the way by which a mapped file was opened.
type Route string

// The routes, best first. All end at the very file that is mapped: device and inode are compared.
const (
	// /proc/PID/map_files: any file, deleted or hidden; needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE
	ByMapFiles Route = "map_files"
	ByExe      Route = "exe"  // /proc/PID/exe: the executable only; needs ptrace access
	ByRoot     Route = "root" // the path, looked up below /proc/PID/root without ever leaving it
	ByPath     Route = "path" // the path as it is: a chroot's files, named from our root
)

// File is a file that can be read, and its descriptor, which names it to the kernel. Reading fails with [ErrNoAnswer]
// where the file system's server is silent. The descriptor must not be read.
type File interface {
	io.ReaderAt
	io.Closer
	Fd() uintptr
}

// MappedFile is a file that a process maps, held open. The caller closes File.
type MappedFile struct {
	File    File        // open for reading
	Stat    unix.Stat_t // as it was when it was opened
	Mapping Mapping
	Route   Route
}
