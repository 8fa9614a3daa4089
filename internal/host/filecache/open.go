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

// ErrUnsafe is the error for a folder or a file that is not this user's alone.
var ErrUnsafe = errors.New("others may have written there")

// before is the end of the name of a file's predecessor.
const before = ".before"

// Open opens the cache of a domain in a folder. It makes the folder if it is missing. program tells builds of this
// program from each other: entries of another build are not read. Open must be called while the program still has the
// right to open the files. It waits for no other program. With every error the cache is nil.
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

// The number of attempts to lock the folder, and the wait between two attempts. The program that has locked the folder
// has as little to do there as this one.
const (
	lockTries = 10
	lockWait  = 2 * time.Millisecond
)

// lock locks the folder against changes by other programs, and reports whether it could. If not, the files are read as
// they are.
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

// openFolder opens a folder that is this user's alone. create: the folder is made if it is missing.
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

// isOurs reports whether a file or folder is of a given kind, is this user's, and lets nobody else read or write.
func isOurs(st *unix.Stat_t, kind uint32) bool {
	return st.Mode&unix.S_IFMT == kind && st.Uid == uint32(os.Geteuid()) && st.Mode&0o077 == 0 &&
		(kind == unix.S_IFDIR || st.Nlink == 1)
}

// opener opens a domain's files in a folder.
type opener struct {
	dir     *os.File
	name    string
	program string
	alone   bool // no other program changes the folder now
}

func (o *opener) open() (*Cache, error) {
	c := &Cache{}
	whole, err := o.readInto(c)
	if o.alone && (!whole || c.size >= turn) {
		if c.file != nil {
			_ = c.file.Close()
		}
		if err := o.begin(c, whole); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	} else if !whole {
		_ = c.file.Close() // no reader would find entries that are appended there
		c.file = nil
	}
	if c.file != nil { // files in use stay the longest
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

// readInto reads the domain's file into a cache, and reports whether all of it is sound. A program that appends to the
// file at this moment may have written half an entry, which looks like damage. So the file is read again, as many times
// as there are attempts to lock the folder.
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

// read opens one of the files and reads it, unless another program has made it.
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

// begin begins a new file in the place of a full or useless one. A full file becomes the new file's predecessor.
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
	err = cmp.Or(err, unix.Fchmod(fd, 0o600)) // whatever the umask
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
	c.older, c.entries = c.entries, nil // those in front of damage
	return nil
}
