package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Prepare has Linux read the pages at some offsets of the file, before probes are placed there. Linux places probes
// under locks, and would hold these while it waits for the file system's server. Prepare fails with [ErrNoAnswer].
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

// ProbePath returns a path to the file for perf_event_open(2) and uprobe_multi links. Linux resolves the path to the
// very file that is open here, even if the file is in another mount namespace or a chroot, or is deleted. The path is
// valid in this process, while File is open.
func (f *MappedFile) ProbePath() string {
	return "/proc/self/fd/" + strconv.Itoa(int(f.File.Fd()))
}

// OpenMapping opens the file of a mapping of a process, even if its name now leads to another file or to none. It fails
// with [ErrChanged] if no route leads to the file, as when another file is mapped there by now. It also fails with
// [ErrNotPermitted], [ErrZombie], or [ErrNoProcess]. It opens only regular files, so that a hostile process cannot make
// this program open a device or wait for a pipe.
func (i Image) OpenMapping(m Mapping) (*MappedFile, error) {
	if i.proc.pid <= 0 {
		return nil, &Error{PID: i.proc.pid, Kind: ErrNoProcess}
	}
	if m.File.Inode == 0 {
		return nil, &Error{PID: i.proc.pid, Kind: ErrChanged, Cause: errors.New("the mapping has no file")}
	}
	if i.proc.fs.Helper != nil {
		if kind, distant := i.isDistant(m.File); distant {
			return i.proc.fs.Helper.open(i.proc.fs, openRequest{PID: i.proc.pid, Mapping: m, Kind: kind})
		}
	}
	if i.proc.fs.usesHelper() {
		return i.proc.fs.Helper.near(i.proc.fs, openRequest{PID: i.proc.pid, Mapping: m})
	}
	name := m.Path
	if !filepath.IsAbs(name) { // must not be looked up in this program's working directory
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

// mapFile returns the name of a mapping's file in the process's directory in /proc.
func mapFile(m Mapping) string { return fmt.Sprintf("map_files/%x-%x", m.Start, m.End) }

// TryMapFiles finds out whether the calling thread may use the route [ByMapFiles], on a file that this program maps.
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

// mappingFailure returns the likeliest reason why no route led to the file: the process has ended, or else a privilege
// is missing, or else the file has changed.
func (i Image) mappingFailure(failures []error) error {
	cause := errors.Join(failures...)
	st, err := i.proc.Stat()
	if err != nil {
		return err
	}
	if st.Ended() {
		return &Error{PID: i.proc.pid, Kind: ErrZombie, Cause: cause}
	}
	if errors.Is(cause, unix.EACCES) || errors.Is(cause, unix.EPERM) {
		return &Error{PID: i.proc.pid, Kind: ErrNotPermitted, Cause: cause}
	}
	return &Error{PID: i.proc.pid, Kind: ErrChanged, Cause: cause}
}

// openFound opens for reading the file to which find returns a descriptor, if that is the regular file of the mapping.
func openFound(find func() (int, error), m Mapping) (f *os.File, st unix.Stat_t, err error) {
	f, st, err = openRegular(find)
	if err != nil {
		return nil, st, err
	}
	if !isFile(f, st, m.File) {
		f.Close()
		return nil, st, ErrChanged
	}
	return f, st, nil
}

// openRegular opens for reading the file to which find returns a descriptor, if that is a regular file.
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
	// O_NONBLOCK, because a user with a lease on the file could make this program wait (fcntl(2), F_SETLEASE).
	f, err = os.OpenFile("/proc/self/fd/"+strconv.Itoa(fd), os.O_RDONLY|unix.O_NONBLOCK, 0)
	return f, st, err
}

// openPath returns a descriptor of a file without opening it (O_PATH). So it has no effect on a device or a pipe.
func openPath(path string) (fd int, err error) {
	return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
}

// openBelowRoot does what openPath does, with a path that is looked up as the process itself would. RESOLVE_IN_ROOT
// (openat2(2), Linux 5.6) keeps links and ".." below the process's root, where an absolute link would leave it.
func (i Image) openBelowRoot(path string) (fd int, err error) {
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

// isFile reports whether an open file is the one that /proc/PID/maps names. stat(2) may return other numbers than maps
// has (btrfs, overlayfs). Then isFile maps the file, and compares with the entry in this program's own maps.
func isFile(f *os.File, st unix.Stat_t, want FileID) bool {
	have := FileID{Major: unix.Major(st.Dev), Minor: unix.Minor(st.Dev), Inode: st.Ino}
	if have == want {
		return true
	}
	have, err := mappedID(f)
	return err == nil && have == want
}

// mappedID returns the identity that /proc/PID/maps has for an open file.
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

// OpenFile opens a file by the absolute path that a process would use. The path is looked up below the process's own
// root, without leaving it. OpenFile opens only regular files. The Mapping in its result has the file's identity and
// name, but no addresses. The caller closes File.
func (i Image) OpenFile(path string) (*MappedFile, error) {
	if i.proc.fs.Helper != nil && i.seesDistant() {
		return i.proc.fs.Helper.open(i.proc.fs, openRequest{PID: i.proc.pid, Path: path})
	}
	if i.proc.fs.usesHelper() {
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
