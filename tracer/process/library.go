package process

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// OpenFile opens a file by the name that a process would use, which need not have it mapped: absolute, looked up below
// the process's own root without leaving it. Only regular files are opened. Mapping has the file's identity and
// name and no addresses. The caller closes File.
func (fs FS) OpenFile(pid int, path string) (*MappedFile, error) {
	fd, err := fs.openBelowRoot(pid, path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, fmt.Errorf("%s: %w", path, ErrChanged)
	}
	// Nonblocking: see openFound.
	f, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(fd), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	id, err := mappedID(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &MappedFile{File: f, Mapping: Mapping{File: id, Path: path}, Route: ByRoot}, nil
}
