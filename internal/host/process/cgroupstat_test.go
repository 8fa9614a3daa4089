package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCgroupStatOfThis: the parts of the control group of this very process, or of one around it, are about its use.
func TestCgroupStatOfThis(t *testing.T) {
	groups, err := FS{}.Proc(os.Getpid()).MemoryCgroups()
	if err != nil || len(groups) == 0 {
		t.Skip("no memory cgroup can be seen", err)
	}
	for _, g := range groups {
		if g.Path == "/" {
			continue
		}
		var folder unix.Stat_t
		if err := unix.Stat(g.dir, &folder); err != nil {
			t.Fatal(err)
		}
		s, err := FS{}.Proc(os.Getpid()).OpenCgroupStat(folder.Ino)
		if err != nil {
			t.Fatal(g.Path, err)
		}
		for range 2 { // it is read again from its beginning
			p, err := s.Read()
			if err != nil || p.Anon < 1<<20 || p.Anon+p.File+p.Shmem > 2*g.Usage+64<<20 {
				t.Errorf("%s: %+v, %v, of %d", g.Path, p, err, g.Usage)
			}
		}
		s.Close()
	}
	if _, err := (FS{}).Proc(os.Getpid()).OpenCgroupStat(1 << 60); err == nil {
		t.Error("a group that is not there")
	}
}

// TestCgroupStatParts: both versions of the file.
func TestCgroupStatParts(t *testing.T) {
	for name, tt := range map[string]struct {
		version      int
		stat, kernel string
		want         CgroupParts
	}{
		"version 2": {2, "anon 10\nfile 30\nkernel 7\nshmem 12\nslab 5\n", "", CgroupParts{10, 18, 12, 7}},
		"version 2 before 5.18": {
			2, "anon 10\nfile 30\nkernel_stack 1\npagetables 2\npercpu 3\nsock 4\nshmem 12\nslab 5\n", "",
			CgroupParts{10, 18, 12, 15},
		},
		"version 1": {
			1, "rss 1\ntotal_rss 10\ntotal_cache 30\ntotal_shmem 12\n", "7\n", CgroupParts{10, 18, 12, 7},
		},
		"version 1, no kmem":   {1, "total_rss 10\ntotal_cache 30\ntotal_shmem 12\n", "", CgroupParts{10, 18, 12, 0}},
		"more shmem than file": {2, "anon 1\nfile 3\nshmem 12\n", "", CgroupParts{1, 0, 12, 0}},
		"nonsense":             {2, "anon -3\nfile x\n\n \nanon\n\x00", "", CgroupParts{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &CgroupStat{version: tt.version, stat: fileOf(t, tt.stat), kernel: -1}
			if tt.kernel != "" {
				s.kernel = fileOf(t, tt.kernel)
			}
			defer s.Close()
			if p, err := s.Read(); err != nil || p != tt.want {
				t.Errorf("%+v, %v, want %+v", p, err, tt.want)
			}
		})
	}
}

func fileOf(t *testing.T, text string) (fd int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

// TestHostileCgroupStat: something else in the place of memory.stat, and paths that are made to mislead, give an error
// at once.
func TestHostileCgroupStat(t *testing.T) {
	long := strings.Repeat("/"+strings.Repeat("x", 200), 20)
	for name, tt := range map[string]struct {
		cgroup string
		write  func(path string) error
	}{
		"a FIFO": {"0::/user\n", func(path string) error { return syscall.Mkfifo(path, 0o644) }},
		"a file of another file system": {"0::/user\n", func(path string) error {
			return os.WriteFile(path, []byte("anon 5\n"), 0o644)
		}},
		"a huge file": {"0::/user\n", func(path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("anon 5\n", 1<<20)), 0o644)
		}},
		"a link":           {"0::/user\n", func(path string) error { return os.Symlink("/proc/self/mem", path) }},
		"upwards":          {"0::/../../user\n", nil},
		"in the middle":    {"0::/x/../user\n", nil},
		"a path of 4 KiB":  {"0::" + long + "\n", nil},
		"with a newline":   {"0::/x\n0::/user/\nmemory\n", nil},
		"nothing":          {"", nil},
		"many hierarchies": {strings.Repeat("7:cpu:/user\n", 10_000), nil},
	} {
		t.Run(name, func(t *testing.T) {
			tree := cgroupTree(t, tt.cgroup, mount2, map[string]string{"v2/user/x": ""})
			at := filepath.Join(filepath.Dir(tree.Root), "v2/user")
			if tt.write != nil {
				if err := tt.write(at + "/memory.stat"); err != nil {
					t.Fatal(err)
				}
			}
			var folder unix.Stat_t
			if err := unix.Stat(at, &folder); err != nil {
				t.Fatal(err)
			}
			if s, err := tree.Proc(7).OpenCgroupStat(folder.Ino); err == nil {
				t.Errorf("%s: %+v", fmt.Sprintf("%.40q", tt.cgroup), s)
			}
		})
	}
	t.Run("no end", func(t *testing.T) {
		s := &CgroupStat{version: 2, stat: fileOf(t, strings.Repeat("anon 5\n", maxCgroupFile)), kernel: -1}
		defer s.Close()
		if p, err := s.Read(); err == nil {
			t.Errorf("%+v of more than is read", p)
		}
	})
}
