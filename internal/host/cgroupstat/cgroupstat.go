// Package cgroupstat reads the parts of a control group's memory, again and again, from files that stay open.
package cgroupstat

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/process"
)

// Parts divides the memory of a control group, in bytes, with the groups below it.
type Parts struct {
	Anon   int64 // anonymous memory
	File   int64 // page cache, without Shmem
	Shmem  int64 // tmpfs and shared memory
	Kernel int64 // Linux's own memory for the group
}

// Stat is an open memory.stat of a control group. It is read without a path, and works until the group is removed.
type Stat struct {
	isFirst bool // version 1
	stat    int  // descriptors
	kernel  int  // memory.kmem.usage_in_bytes of version 1; below 0: there is none
}

// errNoGroup says that a control group cannot be seen from here.
var errNoGroup = errors.New("the control group cannot be seen from here")

// Open opens the memory.stat of a process's control group, or of a group around it. number is the inode of the group's
// folder.
func Open(p process.Proc, number uint64) (*Stat, error) {
	name, ok := p.MemoryGroup()
	version, path, _ := strings.Cut(name, ":")
	if !ok {
		return nil, errNoGroup
	}
	for _, dir := range folders(process.CgroupMounts(), path) {
		var folder unix.Stat_t
		if unix.Stat(dir, &folder) != nil || folder.Ino != number {
			continue
		}
		if s, err := open(dir, version == "1"); err == nil {
			return s, nil
		}
	}
	return nil, errNoGroup
}

// mostFolders bounds the folders that are looked at.
const mostFolders = 1 << 10

// folders returns where a group and the groups around it may be. A mount may begin at any group, so a part of the path
// may be missing in front.
func folders(mounts []string, path string) (all []string) {
	if strings.Contains(path+"/", "/../") {
		return nil
	}
	for _, mount := range mounts {
		for front := path; front != ""; front = afterFirst(front) {
			for dir := front; dir != ""; dir = dir[:strings.LastIndexByte(dir, '/')] {
				if all = append(all, mount+dir); len(all) == mostFolders {
					return all
				}
			}
		}
		all = append(all, mount)
	}
	return all
}

// afterFirst removes the first name of a path: "/a/b" becomes "/b", and "/b" nothing.
func afterFirst(path string) string {
	if at := strings.IndexByte(path[1:], '/'); at >= 0 {
		return path[1+at:]
	}
	return ""
}

func open(dir string, isFirst bool) (*Stat, error) {
	stat, err := openFile(dir+"/memory.stat", unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	s := &Stat{isFirst: isFirst, stat: stat, kernel: -1}
	if isFirst {
		if kernel, err := openFile(dir+"/memory.kmem.usage_in_bytes", unix.O_RDONLY); err == nil {
			s.kernel = kernel
		}
	}
	return s, nil
}

// openFile opens a file of a control group. It fails, and does not wait, if something else is mounted there.
func openFile(path string, access int) (fd int, err error) {
	fd, err = unix.Open(path, access|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
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
func (s *Stat) Read() (p Parts, err error) {
	text, err := readFile(s.stat)
	if err != nil {
		return p, err
	}
	stat := numbers(text)
	if !s.isFirst {
		p = Parts{Anon: stat["anon"], Shmem: stat["shmem"], File: stat["file"] - stat["shmem"]}
		p.Kernel = stat["kernel"]
		if _, known := stat["kernel"]; !known { // before Linux 5.18
			p.Kernel = stat["kernel_stack"] + stat["pagetables"] + stat["percpu"] + stat["sock"] + stat["slab"]
		}
	} else {
		p = Parts{Anon: stat["total_rss"], Shmem: stat["total_shmem"],
			File: stat["total_cache"] - stat["total_shmem"]}
		if s.kernel >= 0 {
			if text, err := readFile(s.kernel); err == nil {
				p.Kernel = numberOf(strings.TrimSpace(text))
			}
		}
	}
	p.File = max(p.File, 0)
	return p, nil
}

// readFile reads an open file from its beginning, at most maxFile bytes of it.
func readFile(fd int) (string, error) {
	buf := make([]byte, maxFile)
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
	return "", fmt.Errorf("a file of a control group has more than %d bytes", maxFile)
}

// maxFile is the most bytes that are read of a file.
const maxFile = 64 << 10

// numbers parses lines such as "anon 3". It ignores other lines.
func numbers(text string) map[string]int64 {
	out := map[string]int64{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			out[key] = numberOf(value)
		}
	}
	return out
}

// numberOf parses a size; 0 for what is none, or more than any machine has.
func numberOf(text string) int64 {
	const most = 1 << 56
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > most {
		return 0
	}
	return n
}

// Close closes the files.
func (s *Stat) Close() {
	_ = unix.Close(s.stat)
	if s.kernel >= 0 {
		_ = unix.Close(s.kernel)
	}
}
