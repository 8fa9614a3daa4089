package invoker

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Kept is a folder in which a program keeps some files of its own for a user.
type Kept struct {
	rights *Rights
	fd     int // O_PATH
	path   string
}

// maxNames bounds the names of a folder that are read: the folder is the user's, and the user may have put any number
// of files there.
const maxNames = 10000

// ErrCrowded is the error for a folder with more files than are looked through.
var ErrCrowded = errors.New("there are too many files in it")

// MakeFolder opens the folder at an absolute path, and keeps it open. It makes the folder, and the folders above it,
// where they are missing. They are for the user alone (mode 0700).
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

func (r *Rights) makeFolder(path string) (fd int, err error) {
	above, name := filepath.Split(path)
	if fd, err = r.walk(path); err != unix.ENOENT || name == "" {
		return fd, err
	}
	up, err := r.makeFolder(filepath.Clean(above))
	if err != nil {
		return -1, err
	}
	defer unix.Close(up)
	if err := unix.Mkdirat(up, name, 0o700); err != nil && err != unix.EEXIST {
		return -1, err
	}
	return unix.Openat(up, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// Close closes the folder.
func (k *Kept) Close() { unix.Close(k.fd) }

// Thin removes files whose names belong here, in the order of the names, until at most a number of them are left. It
// removes only regular files of the user's.
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

func (k *Kept) isOwn(name string) bool {
	var st unix.Stat_t
	err := unix.Fstatat(k.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Uid == k.rights.user.UID
}
