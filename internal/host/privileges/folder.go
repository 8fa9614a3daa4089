package privileges

import (
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// place is a name in a folder. The folder is identified by its descriptor, so that it stays the same if its path
// changes.
type place struct {
	path   string // as the user typed it, for messages
	folder int    // O_PATH
	name   string
}

func (p *place) close() { unix.Close(p.folder) }

// find opens the folder of a typed path, and returns the place of the path's last part.
func (r *Rights) find(typed string) (*place, error) {
	folder, name := path.Split(typed)
	if name == "" || name == "." || name == ".." {
		if typed == "" {
			return nil, pathError("open", typed, unix.ENOENT)
		}
		return nil, &kindError{typed, "a directory"}
	}
	fd, err := r.walk(folder)
	if err != nil {
		return nil, pathError("open", typed, err)
	}
	return &place{path: typed, folder: fd, name: name}, nil
}

// maxLinks is how many symbolic links a path may lead through, as in Linux (MAXSYMLINKS of linux/namei.h).
const maxLinks = 40

// walk opens a folder part by part, from the working directory or the root. It follows only links of root and of the
// user. Another user's link could lead to a folder that only this user can write to.
func (r *Rights) walk(folder string) (fd int, err error) {
	at, err := start(folder)
	if err != nil {
		return -1, err
	}
	rest, links := strings.Split(folder, "/"), 0
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		if part == "" {
			continue
		}
		next, link, err := r.step(at, part)
		if err != nil {
			unix.Close(at)
			return -1, err
		}
		switch {
		case link == "":
			unix.Close(at)
			at = next
			continue
		case links == maxLinks:
			unix.Close(at)
			return -1, unix.ELOOP
		case link[0] == '/':
			unix.Close(at)
			if at, err = start(link); err != nil {
				return -1, err
			}
		}
		links++
		rest = append(strings.Split(link, "/"), rest...)
	}
	return at, nil
}

// start opens the folder that a path begins at: the root or the working directory.
func start(folder string) (fd int, err error) {
	from := "."
	if strings.HasPrefix(folder, "/") {
		from = "/"
	}
	return unix.Open(from, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// step opens a part of a path in folder at. If the part is a folder, it returns that folder as next. If it is a
// symbolic link, it returns the link's text.
func (r *Rights) step(at int, part string) (next int, link string, err error) {
	next, err = unix.Openat(at, part, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != unix.ENOTDIR {
		return next, "", err
	}
	fd, err := unix.Openat(at, part, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, "", err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return -1, "", err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return -1, "", unix.ENOTDIR
	}
	if st.Uid != 0 && st.Uid != r.user.UID {
		return -1, "", ErrForeignLink
	}
	var to [unix.PathMax]byte
	n, err := unix.Readlinkat(fd, "", to[:])
	if err != nil {
		return -1, "", err
	}
	if n == 0 || n == len(to) {
		return -1, "", unix.ENAMETOOLONG
	}
	return -1, string(to[:n]), nil
}

// look returns an O_PATH descriptor of the file at a place, and its status. fd is -1 if nothing is there.
func (p *place) look() (fd int, st unix.Stat_t, err error) {
	fd, err = unix.Openat(p.folder, p.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return -1, st, nil
	}
	if err == nil {
		if err = unix.Fstat(fd, &st); err != nil {
			unix.Close(fd)
		}
	}
	if err != nil {
		return -1, st, pathError("open", p.path, err)
	}
	return fd, st, nil
}

// kind returns the kind of a file that is not a regular one, for messages.
func kind(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return "a symbolic link; name the file itself"
	case unix.S_IFDIR:
		return "a directory"
	case unix.S_IFBLK:
		return "a block device"
	case unix.S_IFCHR:
		return "a device"
	case unix.S_IFIFO:
		return "a pipe"
	case unix.S_IFSOCK:
		return "a socket"
	}
	return "no file"
}
