package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Prepare makes the kernel have the pages at some offsets of the file in memory. Probes are put in under locks, and the
// kernel would wait there for the file system's server. It fails with [ErrNoAnswer].
func (f *MappedFile) Prepare(offsets []uint64) error {
	distant, ok := f.File.(*distantFile)
	if !ok {
		return nil
	}
	return distant.populate(offsets)
}

// Again opens the same file once more. The caller closes it.
func (f *MappedFile) Again() (File, error) {
	if distant, ok := f.File.(*distantFile); ok {
		return distant.again(), nil
	}
	fd, err := unix.FcntlInt(f.File.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Mapping.Path), nil
}

// ProbePath is a path to the file for perf_event_open(2) and uprobe_multi links. The kernel resolves
// it to the very inode that is open here, in whatever mount namespace or chroot that lives and even if it is
// deleted. It is valid in this process, while File is open.
func (f *MappedFile) ProbePath() string {
	return "/proc/self/fd/" + strconv.Itoa(int(f.File.Fd()))
}

// OpenMapping opens the file behind a mapping of a process, whatever has become of its name. It fails with
// [ErrChanged] when another file is mapped there by now and none of the routes leads to the one asked for, with
// [ErrNotPermitted], [ErrZombie], or [ErrNoProcess]. Only regular files are opened: a hostile process cannot make us
// open a device or wait for a pipe.
func (i Image) OpenMapping(m Mapping) (*MappedFile, error) {
	if i.proc.pid <= 0 {
		return nil, &Error{PID: i.proc.pid, Kind: ErrNoProcess}
	}
	if m.File.Inode == 0 {
		return nil, &Error{PID: i.proc.pid, Kind: ErrChanged, Cause: errors.New("memory without a file")}
	}
	if i.proc.fs.Helper != nil {
		if kind, distant := i.isDistant(m.File); distant {
			return i.proc.fs.Helper.open(i.proc.fs, openRequest{PID: i.proc.pid, Mapping: m, Kind: kind})
		}
	}
	if i.proc.fs.keeps() {
		return i.proc.fs.Helper.near(i.proc.fs, openRequest{PID: i.proc.pid, Mapping: m})
	}
	name := m.Path
	if !filepath.IsAbs(name) { // must not be looked up in our working directory
		name = "/" + name
	}
	routes := []struct {
		name Route
		find func() (int, error)
	}{
		{ByMapFiles, func() (int, error) { return openPath(i.proc.path(mapFile(m))) }},
		{ByExe, func() (int, error) { return openPath(i.proc.path("exe")) }},
		{ByRoot, func() (int, error) { return i.openBelowRoot(name) }},
		{ByPath, func() (int, error) { return openPath(name) }},
	}
	var failures []error
	for _, route := range routes {
		f, st, err := openFound(route.find, m)
		if err == nil {
			return &MappedFile{File: f, Stat: st, Mapping: m, Route: route.name}, nil
		}
		failures = append(failures, fmt.Errorf("%s: %w", route.name, err))
	}
	return nil, i.mappingFailure(failures)
}

// mapFile returns the name by which a process's directory has the file of a mapping.
func mapFile(m Mapping) string { return fmt.Sprintf("map_files/%x-%x", m.Start, m.End) }

// TryMapFiles opens, by its mapping, a file that this very program maps: whether [ByMapFiles] is open to the calling
// thread.
func (fs FS) TryMapFiles() error {
	for m, err := range fs.Image(os.Getpid()).Mappings() {
		if err != nil {
			return err
		}
		if m.File.Inode == 0 {
			continue
		}
		fd, err := openPath(fs.Proc(os.Getpid()).path(mapFile(m)))
		if err != nil {
			return err
		}
		return unix.Close(fd)
	}
	return ErrChanged
}

// mappingFailure picks the best explanation why no route led to the file: the process is gone, then a missing
// privilege, then the file having changed.
func (i Image) mappingFailure(failures []error) error {
	cause := errors.Join(failures...)
	if st, err := i.proc.Stat(); err != nil {
		return err
	} else if st.Ended() {
		return &Error{PID: i.proc.pid, Kind: ErrZombie, Cause: cause}
	}
	if errors.Is(cause, unix.EACCES) || errors.Is(cause, unix.EPERM) {
		return &Error{PID: i.proc.pid, Kind: ErrNotPermitted, Cause: cause}
	}
	return &Error{PID: i.proc.pid, Kind: ErrChanged, Cause: cause}
}

// openFound opens for reading the file that find found, if it is the regular file of the mapping.
func openFound(find func() (int, error), m Mapping) (*os.File, unix.Stat_t, error) {
	f, st, err := openRegular(find)
	if err != nil {
		return nil, st, err
	}
	if !isFile(f, st, m.File) {
		f.Close()
		return nil, st, ErrChanged
	}
	return f, st, nil
}

// openRegular opens for reading the file that find took hold of, if it is a regular file.
func openRegular(find func() (int, error)) (f *os.File, st unix.Stat_t, err error) {
	fd, err := find()
	if err != nil {
		return nil, st, err
	}
	defer unix.Close(fd)
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, st, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, st, ErrChanged
	}
	// Nonblocking: a user who holds a lease on the file must not make us wait for it (fcntl(2), F_SETLEASE).
	f, err = os.OpenFile("/proc/self/fd/"+strconv.Itoa(fd), os.O_RDONLY|unix.O_NONBLOCK, 0)
	return f, st, err
}

// openPath takes hold of a file without opening it, so that nothing happens to it, whatever it is.
func openPath(path string) (int, error) {
	return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
}

// openBelowRoot looks a path up as the process itself would. RESOLVE_IN_ROOT (openat2(2), Linux 5.6) keeps
// symbolic links and ".." inside: followed from here, an absolute link would lead into our own root.
func (i Image) openBelowRoot(path string) (int, error) {
	root, err := unix.Open(i.proc.path("root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(root)
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	}
	return unix.Openat2(root, path, &how)
}

// isFile compares an open file with the entry in /proc/PID/maps. Where stat(2) shows other numbers than maps does
// (btrfs, overlayfs), the file is mapped here and the kernel asked the same question about ourselves.
func isFile(f *os.File, st unix.Stat_t, want FileID) bool {
	have := FileID{Major: unix.Major(st.Dev), Minor: unix.Minor(st.Dev), Inode: st.Ino}
	if have == want {
		return true
	}
	have, err := mappedID(f)
	return err == nil && have == want
}

// mappedID returns how maps names an open file.
func mappedID(f *os.File) (FileID, error) {
	page, err := unix.MmapPtr(int(f.Fd()), 0, nil, 1, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return FileID{}, err
	}
	defer unix.MunmapPtr(page, 1)
	address := uint64(uintptr(page))
	for m, err := range (FS{}).Image(os.Getpid()).Mappings() {
		if err != nil {
			return FileID{}, err
		}
		if m.Start <= address && address < m.End {
			return m.File, nil
		}
	}
	return FileID{}, ErrChanged
}

// OpenFile opens a file by the name that a process would use, which need not have it mapped: absolute, looked up below
// the process's own root without leaving it. Only regular files are opened. Mapping has the file's identity and
// name and no addresses. The caller closes File.
func (i Image) OpenFile(path string) (*MappedFile, error) {
	if i.proc.fs.Helper != nil && i.seesDistant() {
		return i.proc.fs.Helper.open(i.proc.fs, openRequest{PID: i.proc.pid, Path: path})
	}
	if i.proc.fs.keeps() {
		return i.proc.fs.Helper.near(i.proc.fs, openRequest{PID: i.proc.pid, Path: path})
	}
	f, st, err := openRegular(func() (int, error) { return i.openBelowRoot(path) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	id, err := mappedID(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &MappedFile{File: f, Stat: st, Mapping: Mapping{File: id, Path: path}, Route: ByRoot}, nil
}
