package invoker

import (
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/confine"
)

// File is a file under way, the user's own from its first moment and readable by nobody else (mode 0600). It has no
// name that anybody has chosen until Commit puts it in its place: so it is there whole or not at all.
type File struct {
	*os.File
	rights  *Rights
	place   *place
	replace bool
	hidden  string // its name until then; "" where the file system gives files without one
	others  bool   // the file in its place is another user's, in a folder where every user removes only the own ones
	over    bool   // committed or discarded
}

// Create begins a file that shall be at path. An existing file there must be a regular one. It stays as it is until
// Commit, which with replace puts the new one in its place. Without replace, an existing file is an error that is
// [fs.ErrExist].
func (r *Rights) Create(path string, replace bool) (f *File, err error) {
	err = r.Do(func() (err error) {
		f, err = r.create(path, replace)
		return err
	})
	return f, err
}

func (r *Rights) create(path string, replace bool) (*File, error) {
	p, err := r.find(path)
	if err != nil {
		return nil, err
	}
	f := &File{rights: r, place: p, replace: replace}
	if err = f.check(); err == nil {
		err = f.begin()
	}
	if err != nil {
		f.discard()
		return nil, err
	}
	return f, nil
}

// check refuses at once a file that Commit could not replace.
func (f *File) check() error {
	fd, st, err := f.place.look()
	if fd < 0 {
		return err
	}
	unix.Close(fd)
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return &kindError{f.place.path, kind(st.Mode)}
	case !f.replace:
		return pathError("create", f.place.path, fs.ErrExist)
	}
	return f.removable(&st)
}

// removable predicts the result of rename(2): in a folder with the sticky bit every user removes only the own files.
func (f *File) removable(st *unix.Stat_t) error {
	var folder unix.Stat_t
	if err := unix.Fstat(f.place.folder, &folder); err != nil {
		return pathError("create", f.place.path, err)
	}
	uid := f.rights.user.UID
	f.others = folder.Mode&unix.S_ISVTX != 0 && st.Uid != uid && folder.Uid != uid
	if f.others && uid != 0 {
		return pathError("replace", f.place.path, unix.EPERM)
	}
	return nil
}

// noUnnamed makes every file have a name from the beginning, as some file systems do (NFS, FUSE). For tests.
var noUnnamed bool

func (f *File) begin() error {
	fd, err := unix.Openat(f.place.folder, ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil || noUnnamed {
		if err == nil {
			unix.Close(fd)
		}
		name := hiddenName()
		if fd, err = unix.Openat(f.place.folder, name, newFile, 0o600); err != nil {
			return pathError("create", f.place.path, err)
		}
		f.hidden = name
	}
	f.File = os.NewFile(uintptr(fd), f.place.path)
	if err := unix.Fchmod(fd, 0o600); err != nil { // whatever the umask
		return pathError("chmod", f.place.path, err)
	}
	return nil
}

// newFile are the flags that take nothing that is there, and follow nothing.
const newFile = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC

func hiddenName() string { return ".tracer-" + rand.Text()[:12] }

// Commit puts the file in its place. It can go on being written to. Where it fails there is no file.
func (f *File) Commit() error {
	if f.over {
		return nil
	}
	f.over = true
	return f.rights.Do(func() error {
		defer f.place.close()
		if err := f.put(); err != nil {
			f.unlink()
			return pathError("create", f.place.path, err)
		}
		return nil
	})
}

func (f *File) put() error {
	at := f.place.folder
	switch {
	case f.hidden == "" && !f.replace:
		return f.link(f.place.name)
	case f.hidden == "":
		name := hiddenName()
		if err := f.link(name); err != nil {
			return err
		}
		f.hidden = name
	case !f.replace:
		// No flag of rename and no link that every file system knows: an empty file takes the place, and is replaced.
		fd, err := unix.Openat(at, f.place.name, newFile, 0o600)
		if err != nil {
			return err
		}
		unix.Close(fd)
	}
	return unix.Renameat(at, f.hidden, at, f.place.name)
}

// link gives a file without a name one that nothing has yet.
func (f *File) link(name string) error {
	self := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	return unix.Linkat(unix.AT_FDCWD, self, f.place.folder, name, unix.AT_SYMLINK_FOLLOW)
}

func (f *File) unlink() {
	if f.hidden != "" {
		_ = unix.Unlinkat(f.place.folder, f.hidden, 0)
	}
}

// Discard closes the file, and removes it if it was not committed.
func (f *File) Discard() {
	_ = f.rights.Do(func() error { f.discard(); return nil })
}

func (f *File) discard() {
	if !f.over {
		f.over = true
		f.unlink()
		f.place.close()
	}
	if f.File != nil {
		f.Close()
	}
}

// Folder returns a path to the folder of the file. It stays valid whatever becomes of the typed path, until Commit, and
// in this program only.
func (f *File) Folder() string { return fmt.Sprintf("/proc/self/fd/%d", f.place.folder) }

// Gone reports whether the file was removed since it was committed.
func (f *File) Gone() bool {
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && st.Nlink == 0
}

// NeedsOverride reports whether Commit takes CAP_DAC_OVERRIDE and CAP_FOWNER: for root itself, in a folder of another
// user. Nobody else has use for them.
func (f *File) NeedsOverride() bool {
	if f.rights.jobs != nil || os.Geteuid() != 0 {
		return false
	}
	if f.others {
		return true
	}
	return confine.WithOnly(nil, func() error {
		return unix.Faccessat2(f.place.folder, "", unix.W_OK|unix.X_OK, unix.AT_EMPTY_PATH|unix.AT_EACCESS)
	}) != nil
}
