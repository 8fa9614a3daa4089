package filecache

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"
)

// Folder is the folder of the tracer's caches. The tracer opens it as root.
const Folder = "/var/cache/ipytracer"

// ErrUnsafe is the error for a folder or a file that other users may have written to.
var ErrUnsafe = errors.New("others may have written there")

// before is the suffix of the name of a file's predecessor.
const before = ".before"

// Open opens the cache of a domain in a folder. It makes the folder if it is missing. program identifies the build of
// this program, as entries of other builds are not read. Open must be called while the program still has the right to
// open the files. It does not wait for other programs. If it fails, the cache is nil.
func Open(folder string, d Domain, program string) (*Cache, error) {
	if program == "" {
		return nil, errors.New("it is not known which build of the program this is")
	}
	dir, err := openFolder(folder, true)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	o := opener{dir: dir, name: d.name(program), program: program}
	o.alone = o.lock()
	c, err := o.open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path.Join(folder, o.name), err)
	}
	return c, nil
}

// The number of attempts to lock the folder, and the time between two attempts. Another program locks the folder only
// for a moment.
const (
	lockTries = 10
	lockWait  = 2 * time.Millisecond
)

// lock locks the folder, and reports whether it could. Without the lock, the files are only read and appended to.
func (o *opener) lock() bool {
	for try := range lockTries {
		if try > 0 {
			time.Sleep(lockWait)
		}
		if unix.Flock(int(o.dir.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			return true
		}
	}
	return false
}

// openFolder opens a folder that only this user can use. With create, it makes the folder if it is missing.
func openFolder(folder string, create bool) (*os.File, error) {
	if create {
		if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, err
		}
	}
	fd, err := unix.Open(folder, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: folder, Err: err}
	}
	dir := os.NewFile(uintptr(fd), folder)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || !isOurs(&st, unix.S_IFDIR) {
		dir.Close()
		return nil, &os.PathError{Op: "open", Path: folder, Err: cmp.Or(err, ErrUnsafe)}
	}
	return dir, nil
}

// isOurs reports whether a file or folder is of a kind, belongs to this user, and cannot be used by others. A file must
// have no other name.
func isOurs(st *unix.Stat_t, kind uint32) bool {
	private := st.Uid == uint32(os.Geteuid()) && st.Mode&0o077 == 0
	singleName := kind == unix.S_IFDIR || st.Nlink == 1
	return st.Mode&unix.S_IFMT == kind && private && singleName
}

// opener opens a domain's files in a folder.
type opener struct {
	dir     *os.File
	name    string
	program string
	alone   bool // this program has locked the folder
}

// open reads the domain's file and its predecessor, and begins another file if the present one is full or useless.
func (o *opener) open() (*Cache, error) {
	c := &Cache{}
	whole, err := o.readInto(c)
	switch {
	case o.alone && (!whole || c.size >= turn):
		if c.file != nil {
			_ = c.file.Close()
		}
		if err := o.begin(c, whole); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case !whole:
		_ = c.file.Close() // no reader would find entries that are appended behind damage
		c.file = nil
	}
	if c.file != nil { // the time of the last use decides which files makeRoom removes
		_ = unix.Utime(fmt.Sprintf("/proc/self/fd/%d", c.file.Fd()), nil)
	}
	if old, data, err := o.read(o.name + before); err == nil {
		older, _ := decode(data, o.program)
		maps.Copy(older, c.older)
		c.older = older
		_ = old.Close()
	}
	return c, nil
}

// readInto reads the domain's file into a cache, and reports whether the file is whole. Another program that is
// appending may have written only a part of an entry, which looks like damage. Therefore readInto reads a damaged file
// again, up to lockTries times.
func (o *opener) readInto(c *Cache) (whole bool, err error) {
	for try := range lockTries {
		if try > 0 {
			_ = c.file.Close()
			time.Sleep(lockWait)
		}
		file, data, err := o.read(o.name)
		if err != nil {
			c.file, c.entries, c.size = nil, nil, 0
			return false, err
		}
		c.entries, whole = decode(data, o.program)
		if c.file, c.size = file, int64(len(data)); whole {
			break
		}
	}
	return whole, nil
}

// read opens a file and reads it. It fails with [ErrUnsafe] if other users may have written to the file.
func (o *opener) read(name string) (*os.File, []byte, error) {
	fd, err := unix.Openat(int(o.dir.Fd()), name,
		unix.O_RDWR|unix.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	file := os.NewFile(uintptr(fd), name)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || !isOurs(&st, unix.S_IFREG) {
		file.Close()
		return nil, nil, cmp.Or(err, ErrUnsafe)
	}
	data, err := io.ReadAll(io.NewSectionReader(file, 0, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = errors.New("it is larger than this program makes it")
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, data, nil
}

// begin begins a new file. With keep, the present file becomes its predecessor; without, the new file replaces it.
func (o *opener) begin(c *Cache, keep bool) error {
	if !keep {
		o.makeRoom()
	}
	at, hidden := int(o.dir.Fd()), hiddenPrefix+rand.Text()[:12]
	fd, err := unix.Openat(at, hidden,
		unix.O_RDWR|unix.O_APPEND|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), o.name)
	head := header(o.program)
	_, err = file.Write(head)
	err = cmp.Or(err, unix.Fchmod(fd, 0o600)) // because the umask may have changed the mode
	if err == nil && keep {
		err = unix.Renameat(at, o.name, at, o.name+before)
	}
	if err == nil {
		err = unix.Renameat(at, hidden, at, o.name)
	}
	if err != nil {
		file.Close()
		_ = unix.Unlinkat(at, hidden, 0)
		return err
	}
	c.file, c.size = file, int64(len(head))
	c.older, c.entries = c.entries, nil // of a damaged file, the entries in front of the damage
	return nil
}
