package process

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ipytracer/internal/hostile"
)

// cgroupTree makes a proc file system with process 7 and a mountinfo, and files of control groups; "@" stands for the
// folder they are below.
func cgroupTree(t *testing.T, cgroup, mountinfo string, files map[string]string) FS {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("proc/7/cgroup", cgroup)
	write("proc/self/mountinfo", strings.ReplaceAll(mountinfo, "@", dir))
	for name, text := range files {
		write(name, text+"\n")
	}
	return FS{Root: dir + "/proc"}
}

const (
	mount1 = "35 31 0:32 / @/v1 rw,relatime - cgroup cgroup rw,memory\n"
	mount2 = "41 31 0:38 / @/v2 rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
)

var version2Files = map[string]string{
	"v2/cgroup.controllers":  "memory",
	"v2/user/memory.max":     "1073741824",
	"v2/user/memory.high":    "max",
	"v2/user/memory.current": "700000000",
	"v2/user/memory.stat": "anon 1\nfile 9\nactive_file 100\ninactive_file 50\nfile_dirty 10\n" +
		"file_writeback 5\n",
	"v2/user/memory.events":              "low 0\noom 2\noom_kill 3",
	"v2/user/kernel/memory.max":          "max",
	"v2/user/kernel/memory.high":         "500000000",
	"v2/user/kernel/memory.current":      "400000000",
	"v2/user/kernel/memory.peak":         "450000000",
	"v2/user/kernel/thread/cgroup.procs": "",
}

// withoutDirs are groups without where they were read.
func withoutDirs(all []Cgroup) []Cgroup {
	all = slices.Clone(all)
	for i := range all {
		all[i].dir = ""
	}
	return all
}

// TestCgroupAgain: a group is read anew without its process, until it is gone.
func TestCgroupAgain(t *testing.T) {
	tree := cgroupTree(t, "0::/user/kernel/thread\n", mount2, version2Files)
	groups, err := tree.Proc(7).MemoryCgroups()
	if err != nil {
		t.Fatal(err)
	}
	user := groups[1]
	for name, text := range map[string]string{"memory.current": "5", "memory.events": "oom 9\noom_kill 8",
		"memory.events.local": "oom 7"} {
		if err := os.WriteFile(filepath.Join(user.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if again, ok := user.Again(); !ok || again.Usage != 5 || again.OOMKills != 8 || again.OOMs != 7 ||
		again.Path != "/user" || again.Limit != user.Limit {
		t.Errorf("%+v, %v", again, ok)
	}
	if err := os.RemoveAll(user.dir); err != nil {
		t.Fatal(err)
	}
	if _, ok := user.Again(); ok {
		t.Error("a group that is gone was read")
	}
}

func TestCgroupsOfVersion2(t *testing.T) {
	tree := cgroupTree(t, "0::/user/kernel/thread\n", mount2, version2Files)
	got, err := tree.Proc(7).MemoryCgroups()
	want := []Cgroup{
		{Version: 2, Path: "/user/kernel", Limit: NoLimit, High: 500000000, Above: NoLimit, Usage: 400000000,
			Peak: 450000000},
		{Version: 2, Path: "/user", Limit: 1 << 30, High: NoLimit, Above: NoLimit, Usage: 700000000, Cache: 135,
			OOMKills: 3},
	}
	if err != nil || !reflect.DeepEqual(withoutDirs(got), want) {
		t.Fatalf("%+v, %v; want %+v", got, err, want)
	}
	if room := got[0].Room(); room != 100000000 {
		t.Errorf("room %d below memory.high", room)
	}
	if room := got[1].Room(); room != 1<<30-(700000000-135) {
		t.Errorf("room %d below memory.max", room)
	}
}

var version1Files = map[string]string{
	"v1/memory.usage_in_bytes":            "8000000000",
	"v1/memory.limit_in_bytes":            "9223372036854771712",
	"v1/memory.use_hierarchy":             "1",
	"v1/docker/memory.usage_in_bytes":     "600",
	"v1/docker/memory.limit_in_bytes":     "629145600",
	"v1/docker/memory.use_hierarchy":      "1",
	"v1/docker/memory.max_usage_in_bytes": "700",
	"v1/docker/memory.stat": "cache 5\nhierarchical_memory_limit 524288000\ntotal_active_file 900\n" +
		"total_inactive_file 50\ntotal_dirty 1\ntotal_writeback 0",
	"v1/docker/memory.oom_control":          "oom_kill_disable 0\nunder_oom 0\noom_kill 4",
	"v1/docker/abc/memory.usage_in_bytes":   "500",
	"v1/docker/abc/memory.limit_in_bytes":   "9223372036854710272",
	"v1/docker/abc/memory.use_hierarchy":    "1",
	"v1/docker/a b/memory.usage_in_bytes":   "1",
	"v1/docker/a b/memory.limit_in_bytes":   "4096",
	"v1/alone/memory.usage_in_bytes":        "1",
	"v1/alone/memory.use_hierarchy":         "0",
	"v1/alone/within/memory.usage_in_bytes": "2",
}

func TestCgroupsOfVersion1(t *testing.T) {
	docker := Cgroup{Version: 1, Path: "/docker", Limit: 600 << 20, High: NoLimit, Above: 500 << 20, Usage: 600,
		Peak: 700, Cache: 600, OOMKills: 4}
	root := Cgroup{Version: 1, Path: "/", Limit: NoLimit, High: NoLimit, Above: NoLimit, Usage: 8000000000}
	// A hybrid machine, as systemd makes it: the controller is in version 1.
	tree := cgroupTree(t, "9:name=systemd:/x\n4:cpu,memory:/docker/abc\n0::/user\n", mount2+mount1, version1Files)
	got, err := tree.Proc(7).MemoryCgroups()
	want := []Cgroup{{Version: 1, Path: "/docker/abc", Limit: NoLimit, High: NoLimit, Above: NoLimit, Usage: 500},
		docker, root}
	if err != nil || !reflect.DeepEqual(withoutDirs(got), want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	// Without use_hierarchy the group above does not count the memory of groups below.
	tree = cgroupTree(t, "4:memory:/alone/within\n", mount1, version1Files)
	if got, _ = tree.Proc(7).MemoryCgroups(); len(got) != 1 || got[0].Path != "/alone/within" {
		t.Errorf("%+v; want the group itself alone", got)
	}
}

func TestCgroupMounts(t *testing.T) {
	tests := map[string]struct {
		cgroup, mounts string
		want           string // the paths
	}{
		"a container's own part": {"4:memory:/docker/abc\n",
			"1 1 0:1 /docker @/v1/docker ro - cgroup cgroup rw,memory\n", "/docker/abc /docker"},
		"the widest of two": {"4:memory:/docker/abc\n",
			"1 1 0:1 /docker @/v1/docker ro - cgroup cgroup rw,memory\n" + mount1, "/docker/abc /docker /"},
		"another part": {"4:memory:/docker/abc\n", "1 1 0:1 /dock @/v1/docker ro - cgroup cgroup rw,memory\n",
			""},
		"outside the namespace": {"4:memory:/../other\n", mount1, ""},
		"a mount from outside": {"4:memory:/../docker\n", "1 1 0:1 /.. @/v1 ro - cgroup cgroup rw,memory\n",
			"/../docker /.."},
		"upwards out of a mount": {"4:memory:/../../docker\n", "1 1 0:1 /.. @/v1 ro - cgroup cgroup rw,memory\n", ""},
		"a space": {"4:memory:/docker/a b\n",
			"1 1 0:1 /docker/a\\040b @/v1/docker/a\\040b ro - cgroup cgroup rw,memory\n", "/docker/a b"},
		"the root itself": {"4:memory:/\n", mount1, "/"},
		"gone":            {"4:memory:/docker/gone (deleted)\n", mount1, "/docker /"},
		"no controller":   {"9:name=systemd:/x\n", mount1 + mount2, ""},
		"nothing mounted": {"4:memory:/docker\n", mount2, ""},
		"nonsense":        {"memory\n4:memory\n:::\n4:memory:relative\n", mount1 + "1 - \n - cgroup\n", ""},
	}
	for name, tt := range tests {
		groups, err := cgroupTree(t, tt.cgroup, tt.mounts, version1Files).Proc(7).MemoryCgroups()
		var paths []string
		for _, g := range groups {
			paths = append(paths, g.Path)
		}
		if got := strings.Join(paths, " "); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tt.want)
		}
	}
	if _, err := stored.Proc(999).MemoryCgroups(); !errors.Is(err, ErrNoProcess) {
		t.Errorf("no process: %v", err)
	}
}

func TestOwnCgroups(t *testing.T) {
	groups, err := (FS{}).Proc(os.Getpid()).MemoryCgroups()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		if g.Usage <= 0 || g.Cache > g.Usage || g.Limit <= 0 || g.High < 0 {
			t.Errorf("impossible group %+v", g)
		}
	}
	t.Logf("%+v", groups)
}

func TestRlimits(t *testing.T) {
	const text = `Limit                     Soft Limit           Hard Limit           Units     
Max data size             1073741824           unlimited            bytes     
Max address space         unlimited            18446744073709551615 bytes     
`
	for name, tt := range map[string]struct {
		text string
		want Rlimits
		err  error
	}{
		"limits":    {text, Rlimits{Data: Rlimit{1 << 30, NoLimit}, AddressSpace: Rlimit{NoLimit, NoLimit}}, nil},
		"no units":  {strings.ReplaceAll(text, "bytes", ""), Rlimits{}, ErrMalformed},
		"no number": {strings.ReplaceAll(text, "1073741824", "-1"), Rlimits{}, ErrMalformed},
		"nothing":   {"", Rlimits{}, ErrMalformed},
	} {
		got, err := cgroupTree(t, "", "", map[string]string{"proc/7/limits": tt.text}).Proc(7).Rlimits()
		if got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: %+v, %v; want %+v, %v", name, got, err, tt.want, tt.err)
		}
	}
	own, err := (FS{}).Proc(os.Getpid()).Rlimits()
	if err != nil || own.Data.Soft > own.Data.Hard {
		t.Errorf("our own limits: %+v, %v", own, err)
	}
}

func TestMachineMemory(t *testing.T) {
	tree := cgroupTree(t, "", "",
		map[string]string{"proc/meminfo": "MemTotal:       1000 kB\nMemFree: 5 kB\nMemAvailable:   600 kB\n" +
			"SwapFree:   7 kB"})
	if got, want := tree.MachineMemory(),
		(MachineMemory{Total: 1000 << 10, Available: 600 << 10, SwapFree: 7 << 10}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := (FS{}).MachineMemory(); got.Available <= 0 || got.Available > got.Total {
		t.Errorf("this machine: %+v", got)
	}
}

func FuzzCgroups(f *testing.F) {
	f.Add("4:memory:/docker/abc\n", mount1)
	f.Add("0::/../x (deleted)\n", mount2)
	for text := range hostile.Lines(hostileText, "4:memory:/docker/abc") {
		f.Add(text, mount1)
	}
	for text := range hostile.Lines(hostileText, strings.TrimSpace(mount1)) {
		f.Add("4:memory:/docker/abc\n", text)
	}
	hostile.Fuzz(f, 64<<20, func(t *testing.T, cgroup, mounts string) {
		version, name, ok := memoryPath([]byte(cgroup))
		if !ok {
			return
		}
		if dir, below, ok := cgroupMount([]byte(mounts), version, name); ok &&
			!strings.HasSuffix(strings.TrimSuffix(name, "/"), below) {
			t.Errorf("%q is not below %q", below, dir)
		}
	})
}

// TestCgroupFileOfAnAttacker: a pipe in the place of a file of a cgroup is not read, whether or not something writes
// into it.
func TestCgroupFileOfAnAttacker(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "memory.stat")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if keys := cgroupKeys(dir, "memory.stat"); len(keys) != 0 {
		t.Errorf("%v", keys)
	}
	both, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer both.Close()
	if _, err := both.WriteString("anon 5\n"); err != nil {
		t.Fatal(err)
	}
	if keys := cgroupKeys(dir, "memory.stat"); len(keys) != 0 {
		t.Errorf("%v", keys)
	}
}
