package process

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// CgroupParts divides the memory of a control group, in bytes, with the groups below it.
type CgroupParts struct {
	Anon   int64 // anonymous memory
	File   int64 // page cache, without Shmem
	Shmem  int64 // tmpfs and shared memory
	Kernel int64 // Linux's own memory for the group
}

// CgroupStat is an open memory.stat of a control group. It is read without a path, and works until the group is
// removed.
type CgroupStat struct {
	version int
	stat    int // descriptors
	kernel  int // memory.kmem.usage_in_bytes of version 1; below 0: there is none
}

// errNoGroup says that a control group cannot be seen from here.
var errNoGroup = errors.New("the control group cannot be seen from here")

// OpenCgroupStat opens the memory.stat of a process's control group, or of a group around it. number is the inode of
// the group's folder.
func (p Proc) OpenCgroupStat(number uint64) (*CgroupStat, error) {
	data, _, err := p.read("cgroup", maxCgroups)
	if err != nil {
		return nil, err
	}
	version, name, ok := memoryPath(data)
	if !ok {
		return nil, errNoGroup
	}
	mounts, _, err := readBounded(p.fs.root()+"/self/mountinfo", maxMounts)
	if err != nil {
		return nil, err
	}
	mount, below, ok := cgroupMount(mounts, version, name)
	for range maxCgroupDepth {
		if !ok {
			break
		}
		var folder unix.Stat_t
		if unix.Stat(mount+below, &folder) == nil && folder.Ino == number {
			return openCgroupStat(mount+below, version)
		}
		if ok = below != ""; ok {
			below = below[:strings.LastIndexByte(below, '/')]
		}
	}
	return nil, errNoGroup
}

func openCgroupStat(dir string, version int) (*CgroupStat, error) {
	stat, err := openCgroupFile(dir + "/memory.stat")
	if err != nil {
		return nil, err
	}
	s := &CgroupStat{version: version, stat: stat, kernel: -1}
	if version == 1 {
		if kernel, err := openCgroupFile(dir + "/memory.kmem.usage_in_bytes"); err == nil {
			s.kernel = kernel
		}
	}
	return s, nil
}

// openCgroupFile opens a file of a control group. It fails, and does not wait, if something else is mounted there.
func openCgroupFile(path string) (fd int, err error) {
	fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	var at unix.Statfs_t
	if err := unix.Fstatfs(fd, &at); err != nil || at.Type != unix.CGROUP_SUPER_MAGIC &&
		at.Type != unix.CGROUP2_SUPER_MAGIC {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("%s is no file of a control group", path)
	}
	return fd, nil
}

// Read returns the parts of the group's memory. It fails if the group was removed.
func (s *CgroupStat) Read() (p CgroupParts, err error) {
	text, err := readCgroupFile(s.stat)
	if err != nil {
		return p, err
	}
	stat := cgroupNumbers(text)
	if s.version == 2 {
		p = CgroupParts{Anon: stat["anon"], Shmem: stat["shmem"], File: stat["file"] - stat["shmem"]}
		p.Kernel = stat["kernel"]
		if _, known := stat["kernel"]; !known { // before Linux 5.18
			p.Kernel = stat["kernel_stack"] + stat["pagetables"] + stat["percpu"] + stat["sock"] + stat["slab"]
		}
	} else {
		p = CgroupParts{Anon: stat["total_rss"], Shmem: stat["total_shmem"],
			File: stat["total_cache"] - stat["total_shmem"]}
		if s.kernel >= 0 {
			if text, err := readCgroupFile(s.kernel); err == nil {
				p.Kernel, _ = parseCgroupBytes(strings.TrimSpace(text))
			}
		}
	}
	p.File = max(p.File, 0)
	return p, nil
}

// readCgroupFile reads an open file from its beginning, at most maxCgroupFile bytes of it.
func readCgroupFile(fd int) (string, error) {
	buf := make([]byte, maxCgroupFile)
	for at := 0; at < len(buf); {
		n, err := unix.Pread(fd, buf[at:], int64(at))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return "", err
		case n == 0:
			return string(buf[:at]), nil
		}
		at += max(n, 0)
	}
	return "", fmt.Errorf("a file of a control group has more than %d bytes", maxCgroupFile)
}

// Close closes the files.
func (s *CgroupStat) Close() {
	_ = unix.Close(s.stat)
	if s.kernel >= 0 {
		_ = unix.Close(s.kernel)
	}
}
