package privileges

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Kept is a folder of a user's in which this program keeps files of its own.
type Kept struct {
	rights *Rights
	fd     int // O_PATH
	path   string
}

// maxNames is how many names of a folder are read. The user may put any number of files there.
const maxNames = 10000

// ErrCrowded is the error for a folder with more than maxNames files.
var ErrCrowded = errors.New("there are too many files in it")

// MakeFolder opens the folder at an absolute path. It makes the folder, and the folders above it, if they are missing.
// Only the user may use the folders that it makes (mode 0700).
func (r *Rights) MakeFolder(path string) (k *Kept, err error) {
	err = r.Do(func() error {
		fd, err := r.makeFolder(filepath.Clean(path))
		if err != nil {
			return pathError("make", path, err)
		}
		k = &Kept{rights: r, fd: fd, path: path}
		return nil
	})
	return k, err
}

// makeFolder does what MakeFolder does, and returns an O_PATH descriptor.
func (r *Rights) makeFolder(path string) (fd int, err error) {
	parent, name := filepath.Split(path)
	if fd, err = r.walk(path); err != unix.ENOENT || name == "" {
		return fd, err
	}
	parentFD, err := r.makeFolder(filepath.Clean(parent))
	if err != nil {
		return -1, err
	}
	defer unix.Close(parentFD)
	if err := unix.Mkdirat(parentFD, name, 0o700); err != nil && err != unix.EEXIST {
		return -1, err
	}
	return unix.Openat(parentFD, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// Close closes the folder.
func (k *Kept) Close() { unix.Close(k.fd) }

// Thin removes files until at most most of them are left, in the order of their names. It counts and removes only
// regular files of the user's for whose names belongs returns true.
func (k *Kept) Thin(most int, belongs func(name string) bool) error {
	return k.rights.Do(func() error {
		names, err := k.names()
		if err != nil {
			return pathError("read", k.path, err)
		}
		names = slices.DeleteFunc(names, func(name string) bool { return !belongs(name) || !k.isOwn(name) })
		slices.Sort(names)
		for _, name := range names[:max(0, len(names)-most)] {
			if err := unix.Unlinkat(k.fd, name, 0); err != nil && err != unix.ENOENT {
				return pathError("remove", filepath.Join(k.path, name), err)
			}
		}
		return nil
	})
}

// names returns the names of all files in the folder.
func (k *Kept) names() ([]string, error) {
	fd, err := unix.Openat(k.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), k.path)
	defer f.Close()
	names, err := f.Readdirnames(maxNames + 1)
	if len(names) > maxNames {
		return nil, ErrCrowded
	}
	if len(names) == 0 { // io.EOF
		return nil, nil
	}
	return names, err
}

// isOwn reports whether a name is that of a regular file of the user's.
func (k *Kept) isOwn(name string) bool {
	var st unix.Stat_t
	err := unix.Fstatat(k.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Uid == k.rights.user.UID
}
