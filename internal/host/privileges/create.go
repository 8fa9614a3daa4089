package privileges

import (
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// File is a file that is being written. It belongs to the user, and only the user may read it (mode 0600). It gets its
// path from Commit, so that there is never an incomplete file at the path.
type File struct {
	*os.File
	rights  *Rights
	place   *place
	replace bool
	hidden  string // the name until Commit; "" if the file system has files without names
	others  bool   // the file at the path is another user's, in a folder with the sticky bit
	over    bool   // committed or discarded
}

// Create begins a file for a path. A file that exists there must be a regular one, and stays as it is until Commit
// replaces it. Without replace, Create fails with [fs.ErrExist] if a file exists.
func (r *Rights) Create(path string, replace bool) (f *File, err error) {
	err = r.Do(func() (err error) {
		f, err = r.create(path, replace)
		return err
	})
	return f, err
}

// create does what Create does, on the thread with the user's rights.
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

// check fails if Commit could not put the file at its path.
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

// removable fails if rename(2) could not replace the file: in a folder with the sticky bit, users may remove only their
// own files.
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

// noUnnamed makes every file have a name from the beginning, as on some file systems (NFS, FUSE). It is for tests.
var noUnnamed bool

// begin opens the new file, without a name if the file system can do that.
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
	if err := unix.Fchmod(fd, 0o600); err != nil { // because the umask may have changed the mode
		return pathError("chmod", f.place.path, err)
	}
	return nil
}

// newFile are the flags with which open(2) makes a new file, and fails if anything has the name.
const newFile = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC

func hiddenName() string { return ".tracer-" + rand.Text()[:12] }

// Commit gives the file its path. The file can be written afterwards, too. If Commit fails, the file is removed.
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

// put gives the file its path.
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
		// Not every file system has hard links, or renames that replace nothing. So an empty file takes the path first,
		// and is then replaced.
		fd, err := unix.Openat(at, f.place.name, newFile, 0o600)
		if err != nil {
			return err
		}
		unix.Close(fd)
	}
	return unix.Renameat(at, f.hidden, at, f.place.name)
}

// link gives a file without a name a name that no other file has.
func (f *File) link(name string) error {
	self := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	return unix.Linkat(unix.AT_FDCWD, self, f.place.folder, name, unix.AT_SYMLINK_FOLLOW)
}

// unlink removes the hidden name.
func (f *File) unlink() {
	if f.hidden != "" {
		_ = unix.Unlinkat(f.place.folder, f.hidden, 0)
	}
}

// Discard closes the file, and removes it if it was not committed.
func (f *File) Discard() {
	_ = f.rights.Do(func() error { f.discard(); return nil })
}

// discard does what Discard does, on the thread with the user's rights.
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

// Folder returns a path to the folder of the file. It is valid in this program until Commit, even if the folder gets
// another path.
func (f *File) Folder() string { return fmt.Sprintf("/proc/self/fd/%d", f.place.folder) }

// Gone reports whether the file was removed since it was committed.
func (f *File) Gone() bool {
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && st.Nlink == 0
}

// NeedsOverride reports whether Commit needs CAP_DAC_OVERRIDE and CAP_FOWNER. Only root needs them, for folders of
// other users.
func (f *File) NeedsOverride() bool {
	if f.rights.jobs != nil || os.Geteuid() != 0 {
		return false
	}
	if f.others {
		return true
	}
	return WithOnly(nil, func() error {
		return unix.Faccessat2(f.place.folder, "", unix.W_OK|unix.X_OK, unix.AT_EMPTY_PATH|unix.AT_EACCESS)
	}) != nil
}
