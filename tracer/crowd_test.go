package tracer

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/process"
	"ipytracer/tracer/internal/instruments"
	"ipytracer/tracer/internal/tracee"
)

// mapping returns a /proc with a process 7 that maps so many files of a name, each a file of its own.
func mapping(t *testing.T, name string, count int) process.FS {
	t.Helper()
	fs, files := process.FS{Root: t.TempDir()}, t.TempDir()
	var maps strings.Builder
	for i := range count {
		file := filepath.Join(files, strconv.Itoa(i), name)
		if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Stat(file, &st); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&maps, "%x-%x r-xp 00000000 %x:%x %d %s\n", 0x1000*(i+1), 0x1000*(i+2), unix.Major(st.Dev),
			unix.Minor(st.Dev), st.Ino, file)
	}
	dir := filepath.Join(fs.Root, "7")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "maps"), []byte(maps.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return fs
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestManyLibraries maps many files with the name of a library that is probed. Few are opened; the others are counted
// and reported.
func TestManyLibraries(t *testing.T) {
	const many = 60
	for name, most := range map[string]int{"libcudart.so.12": instruments.MaxLibrariesOfKind,
		"libcuda.so.1": instruments.MaxLibrariesOfKind,
		"libc.so.6":    instruments.MaxLibcs} {
		s := newSessionOn(mapping(t, name, many), Options{})
		h, err := process.FS{}.Open(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		target := &tracee.Target{PID: 7, Handle: h}
		s.targets.All = append(s.targets.All, target)
		before := descriptors(t)
		s.examiner.relist(target)
		s.examiner.relist(target)
		if now := descriptors(t) - before; now > most {
			t.Errorf("%s: %d descriptors for %d files, want at most %d", name, now, many, most)
		}
		said, misses := strings.Join(s.certificate.Trouble, "\n"), s.certificate.Missing > 0
		count := fmt.Sprintf("%d of them are not", many-most)
		if name == "libc.so.6" {
			count = fmt.Sprintf("more than %d files", instruments.MaxLibcs)
			said, misses = strings.Join(s.certificate.Unnamed, "\n"), s.certificate.Missing == 0 // of lines alone
		}
		if strings.Count(said, count) != 1 || !misses {
			t.Errorf("%s: %d problems, not once %q: %.300s", name, len(s.certificate.Trouble), count, said)
		}
		for _, i := range target.Instruments {
			i.Close()
		}
		_ = h.Close()
	}
}
