package limit

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"ipytracer/internal/host/process"
)

// tree is a fake /proc of this process, and files of control groups; "@" stands for the folder they are in.
func tree(t *testing.T, cgroup, mounts, limits string, files map[string]string) (process.FS, string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	own := fmt.Sprintf("proc/%d/", os.Getpid())
	write(own+"cgroup", cgroup)
	write(own+"limits", limits)
	write(own+"status",
		fmt.Sprintf("Name:\ttracer\nTgid:\t%d\nPid:\t%d\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nVmSize:\t  900000 kB\n"+
			"VmRSS:\t   61440 kB\nRssAnon:\t   30720 kB\nRssFile:\t   30720 kB\nRssShmem:\t       0 kB\n"+
			"VmData:\t   80000 kB\nThreads:\t5\n", os.Getpid(), os.Getpid()))
	write("proc/self/mountinfo", strings.ReplaceAll(mounts, "@", dir))
	for name, text := range files {
		write(name, text+"\n")
	}
	return process.FS{Root: dir + "/proc"}, dir
}

const (
	noLimits = "Limit                     Soft Limit           Hard Limit           Units     \n" +
		"Max data size             unlimited            unlimited            bytes     \n" +
		"Max address space         unlimited            unlimited            bytes     \n"
	mounted1 = "35 31 0:32 / @/v1 rw,relatime - cgroup cgroup rw,memory\n"
	mounted2 = "41 31 0:38 / @/v2 rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
)

// TestLeastRoom: of all limits the one with the least room left counts: in both versions of control groups, with groups
// around the program's own, in a container, and for limits of the program itself.
func TestLeastRoom(t *testing.T) {
	const mb = 1 << 20
	v2 := map[string]string{
		"v2/a/memory.max": "max", "v2/a/memory.high": fmt.Sprint(300 * mb), "v2/a/memory.current": fmt.Sprint(250 * mb),
		"v2/a/memory.stat":  fmt.Sprintf("active_file %d\ninactive_file %d", 5*mb, 5*mb),
		"v2/a/b/memory.max": fmt.Sprint(200 * mb), "v2/a/b/memory.high": "max",
		"v2/a/b/memory.current": fmt.Sprint(90 * mb),
	}
	container := map[string]string{"v2/memory.max": fmt.Sprint(70 * mb), "v2/memory.high": "max",
		"v2/memory.current": fmt.Sprint(60 * mb)}
	v1 := map[string]string{
		"v1/d/memory.usage_in_bytes": fmt.Sprint(100 * mb), "v1/d/memory.limit_in_bytes": "9223372036854771712",
		"v1/d/memory.use_hierarchy": "1",
		"v1/d/memory.stat": fmt.Sprintf("hierarchical_memory_limit %d\ntotal_active_file %d\ntotal_inactive_file 0",
			128*mb, 30*mb),
	}
	none := map[string]string{"v2/memory.max": "max", "v2/memory.high": "max", "v2/memory.current": "1"}
	for _, tt := range []struct {
		name, cgroup, mounts, limits string
		files                        map[string]string
		free                         int64
		want                         string
	}{
		{"high of the group around", "0::/a/b\n", mounted2, noLimits, v2, 0,
			"memory.high of control group /a 300 240 50"},
		{"a container", "0::/\n", mounted2, noLimits, container, 0, "memory.max of control group / 70 60 50"},
		{"a container of version 1, limited from around", "4:memory:/d\n",
			"1 1 0:1 /d @/v1/d ro - cgroup cgroup rw,memory\n", noLimits, v1, 0,
			"the memory limit of a control group around /d 128 70 50"},
		{"RLIMIT_DATA", "0::/\n", mounted2, strings.Replace(noLimits, "unlimited  ", fmt.Sprintf("%-11d", 90*mb), 1),
			none, 10 * mb, "RLIMIT_DATA 90 68 68"},
		{"nothing", "0::/\n", mounted2, noLimits, none, 0, ""},
		{"no control groups", "", "", noLimits, nil, 0, ""},
	} {
		fs, _ := tree(t, tt.cgroup, tt.mounts, tt.limits, tt.files)
		m := NewMeter(fs, func() int64 { return 20 * mb })
		m.free = func() int64 { return tt.free }
		f := m.Look()
		got := ""
		if b := f.Bound; b != nil {
			got = fmt.Sprintf("%s %d %d %d", b.Name, b.Bytes/mb, b.Used/mb, b.Own/mb)
		}
		if got != tt.want || f.Resident != 60*mb || f.Kernel != 20*mb {
			t.Errorf("%s: %q, want %q; resident %d, kernel %d", tt.name, got, tt.want, f.Resident, f.Kernel)
		}
	}
}

// TestNearnessOfABound: a bound is near where little is left and a good part of the rest is this program's. Memory of
// another program does not make it near.
func TestNearnessOfABound(t *testing.T) {
	for _, tt := range []struct {
		bytes, used, own int64
		want             bool
	}{{70, 65, 60, true}, {70, 55, 50, false}, {8000, 7999, 100, false}, {70, 90, 60, true}, {400, 399, 100, true}} {
		f := Footprint{Bound: &Bound{Bytes: tt.bytes, Used: tt.used, Own: tt.own}}
		if got := f.Near(8); got != tt.want {
			t.Errorf("%+v: %v", *f.Bound, got)
		}
	}
	if (&Footprint{}).Near(math.MaxInt64) {
		t.Error("near nothing")
	}
}

// TestChangedLimitIsSeen: a limit that is set while the program runs is seen, as is a move into another group.
func TestChangedLimitIsSeen(t *testing.T) {
	fs, dir := tree(t, "0::/a\n", mounted2, noLimits, map[string]string{
		"v2/a/memory.max": "max", "v2/a/memory.current": "100", "v2/b/memory.max": "5000", "v2/b/memory.current": "100",
	})
	m := NewMeter(fs, nil)
	if b := m.Look().Bound; b != nil {
		t.Fatalf("a limit: %+v", b)
	}
	set := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set("v2/a/memory.max", "1000\n")
	if b := m.Look().Bound; b == nil || b.Bytes != 1000 || b.Room() != 900 {
		t.Errorf("the limit that was set: %+v", b)
	}
	set(fmt.Sprintf("proc/%d/cgroup", os.Getpid()), "0::/b\n")
	if b := m.Look().Bound; b == nil || b.Bytes != 5000 {
		t.Errorf("after a move: %+v", b)
	}
}

// TestKeepBelow: Go's limit follows the room, is never too little to go on, and is as it was in the end.
func TestKeepBelow(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "")
	before := debug.SetMemoryLimit(-1)
	m := NewMeter(process.FS{}, nil)
	m.KeepBelow(&Footprint{}, 1)
	if now := debug.SetMemoryLimit(-1); now != before {
		t.Errorf("without a bound Go's limit is %d", now)
	}
	roomy := Footprint{Bound: &Bound{Bytes: 1 << 40, Used: 1 << 39, Own: 1}}
	m.KeepBelow(&roomy, 1<<30)
	if now := debug.SetMemoryLimit(-1); now < 1<<39-1<<30 || now > 1<<40 {
		t.Errorf("with much room it is %d", now)
	}
	full := Footprint{Bound: &Bound{Bytes: 1 << 20, Used: 1 << 20, Own: 1 << 20}}
	m.KeepBelow(&full, 1<<30)
	if now := debug.SetMemoryLimit(-1); now != leastForGo {
		t.Errorf("with none it is %d", now)
	}
	m.Restore()
	if now := debug.SetMemoryLimit(-1); now != before {
		t.Errorf("afterwards it is %d, was %d", now, before)
	}
	t.Setenv("GOMEMLIMIT", "1GiB")
	m.KeepBelow(&full, 1)
	if now := debug.SetMemoryLimit(-1); now != before {
		t.Errorf("where the user has set it it is %d", now)
	}
}

// TestFootprintOfThisProgram measures this very program.
func TestFootprintOfThisProgram(t *testing.T) {
	f := NewMeter(process.FS{}, nil).Look()
	if f.Resident <= 0 || f.Bound != nil && f.Bound.Bytes <= 0 || InUse() <= 0 {
		t.Errorf("%+v, %d", f, InUse())
	}
}
