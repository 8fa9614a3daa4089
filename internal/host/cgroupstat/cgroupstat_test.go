package cgroupstat

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/process"
)

// TestThisGroup: the parts of the control group of this very process, and of those around it, are about its use.
func TestThisGroup(t *testing.T) {
	this := process.FS{}.Proc(os.Getpid())
	name, ok := this.MemoryGroup()
	if _, path, _ := strings.Cut(name, ":"); !ok || path == "/" {
		t.Skip("no memory cgroup can be seen: " + name)
	}
	_, path, _ := strings.Cut(name, ":")
	found := 0
	for _, dir := range folders(process.CgroupMounts(), path) {
		var folder unix.Stat_t
		if unix.Stat(dir, &folder) != nil || unix.Access(dir+"/memory.stat", unix.R_OK) != nil {
			continue
		}
		s, err := Open(this, folder.Ino)
		if err != nil {
			t.Fatal(dir, err)
		}
		found++
		for range 2 { // it is read again from its beginning
			if p, err := s.Read(); err != nil || p.Anon < 1<<20 {
				t.Errorf("%s: %+v, %v", dir, p, err)
			}
		}
		s.Close()
	}
	if found == 0 {
		t.Errorf("none of %q is there", folders(process.CgroupMounts(), path))
	}
	if _, err := Open(this, 1<<60); err == nil {
		t.Error("a group that is not there")
	}
}

func TestFolders(t *testing.T) {
	for path, want := range map[string][]string{
		"/":      {"/m/", "/m"},
		"/a":     {"/m/a", "/m"},
		"/a/b":   {"/m/a/b", "/m/a", "/m/b", "/m"},
		"/../a":  nil,
		"/a/..":  nil,
		"/a/..b": {"/m/a/..b", "/m/a", "/m/..b", "/m"},
		"":       {"/m"},
	} {
		if got := folders([]string{"/m"}, path); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
	if got := folders([]string{"/m", "/n"}, strings.Repeat("/x", 2048)); len(got) != mostFolders {
		t.Errorf("%d folders", len(got))
	}
}

// TestParts: both versions of the file.
func TestParts(t *testing.T) {
	for name, tt := range map[string]struct {
		isFirst      bool
		stat, kernel string
		want         Parts
	}{
		"version 2": {false, "anon 10\nfile 30\nkernel 7\nshmem 12\nslab 5\n", "", Parts{10, 18, 12, 7}},
		"version 2 before 5.18": {
			false, "anon 10\nfile 30\nkernel_stack 1\npagetables 2\npercpu 3\nsock 4\nshmem 12\nslab 5\n", "",
			Parts{10, 18, 12, 15},
		},
		"version 1": {
			true, "rss 1\ntotal_rss 10\ntotal_cache 30\ntotal_shmem 12\n", "7\n", Parts{10, 18, 12, 7},
		},
		"version 1, no kmem":   {true, "total_rss 10\ntotal_cache 30\ntotal_shmem 12\n", "", Parts{10, 18, 12, 0}},
		"more shmem than file": {false, "anon 1\nfile 3\nshmem 12\n", "", Parts{1, 0, 12, 0}},
		"nonsense":             {false, "anon -3\nshmem 99999999999999999999\nfile x\n\n \nanon\n\x00", "", Parts{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Stat{isFirst: tt.isFirst, stat: fileOf(t, tt.stat), kernel: -1}
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

// TestReset: memory.peak is written to unless somebody else has a descriptor that Linux watches. A group that is gone,
// or a file that is none of a group, is an error at once.
func TestReset(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.peak")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_APPEND|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &Peak{fd: fd}
	for i, step := range []struct {
		watched uint32
		writes  bool
	}{{1, false}, {2, false}, {0, true}, {1, true}, {2, false}, {0, true}} {
		before, _ := os.Stat(path)
		if err := p.Reset(step.watched); err != nil {
			t.Fatal(err)
		}
		if after, _ := os.Stat(path); after.Size() > before.Size() != step.writes {
			t.Errorf("step %d: %+v, %d bytes became %d", i, step, before.Size(), after.Size())
		}
	}
	p.Close()
	if err := p.Reset(0); err == nil {
		t.Error("a closed file was written to")
	}
	if fd, err := openFile(path, unix.O_WRONLY); err == nil {
		t.Errorf("a file that is none of a control group was opened: %d", fd)
	}
}

// TestHostileGroup: something else in the place of memory.stat gives an error at once.
func TestHostileGroup(t *testing.T) {
	for name, write := range map[string]func(path string) error{
		"a FIFO": func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"a file of another file system": func(path string) error {
			return os.WriteFile(path, []byte("anon 5\n"), 0o644)
		},
		"a huge file": func(path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("anon 5\n", 1<<20)), 0o644)
		},
		"a link":   func(path string) error { return os.Symlink("/proc/self/mem", path) },
		"a folder": func(path string) error { return os.Mkdir(path, 0o755) },
		"nothing":  func(string) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := write(dir + "/memory.stat"); err != nil {
				t.Fatal(err)
			}
			for _, isFirst := range []bool{true, false} {
				if s, err := open(dir, isFirst); err == nil {
					t.Errorf("%+v", s)
				}
			}
		})
	}
	t.Run("no end", func(t *testing.T) {
		s := &Stat{stat: fileOf(t, strings.Repeat("anon 5\n", maxFile)), kernel: -1}
		defer s.Close()
		if p, err := s.Read(); err == nil {
			t.Errorf("%+v of more than is read", p)
		}
	})
}
