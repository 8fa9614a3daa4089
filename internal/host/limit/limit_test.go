package limit

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/process"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Size{
		"512MiB": {Bytes: 512 << 20}, "8GiB": {Bytes: 8 << 30}, "8G": {Bytes: 8 << 30}, "8g": {Bytes: 8 << 30},
		"1.5GiB":  {Bytes: 3 << 29},
		"1048576": {Bytes: 1 << 20}, "auto": {Auto: true},
	} {
		if got, err := Parse(text); err != nil || got != want || !got.Set() {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "off", "AUTO", "-1GiB", "1 bushel", "GiB", "0", "4095", "1e400", "NaN", "1GiB2"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
	if (Size{}).Set() {
		t.Error("nothing is a limit")
	}
}

func TestOwners(t *testing.T) {
	for _, c := range []struct {
		soft  int64
		owner Owner
		bytes int64
	}{
		{process.NoLimit, Nobody, process.NoLimit}, {1 << 30, Other, 1 << 30}, {1<<30 + 1, Other, 1<<30 + 1},
		{int64(thisMachine.marked(1<<30, sessionMark, math.MaxUint64)), Session, 1 << 30},
		{int64(thisMachine.marked(1<<30+5, commandMark, math.MaxUint64)), Command, 1 << 30},
		{int64(thisMachine.marked(1<<30, sessionMark, 1<<30)), Session, 1<<30 - int64(thisMachine)},
	} {
		if owner, bytes := OwnerOf(c.soft); owner != c.owner || bytes != c.bytes {
			t.Errorf("%#x is of %d, %d", c.soft, owner, bytes)
		}
	}
}

// TestOwnersOfLargePages: the kernel takes no notice of the part of a limit that is no whole page. The same limits are
// others where a page is 65,536 bytes.
func TestOwnersOfLargePages(t *testing.T) {
	const size = 1<<30 + 5<<12 // whole pages of 4,096 bytes
	for page, want := range map[pages]int64{4096: size, 65536: 1 << 30} {
		if owner, bytes := page.ownerOf(int64(page.marked(size, sessionMark, math.MaxUint64))); owner != Session ||
			bytes != want {
			t.Errorf("pages of %d bytes: a limit of %d, %d", page, owner, bytes)
		}
		if soft := page.marked(1<<30, commandMark, 1<<30); soft != 1<<30-uint64(page)|commandMark {
			t.Errorf("pages of %d bytes: %#x below a hard limit", page, soft)
		}
	}
	if owner, _ := pages(65536).ownerOf(size | sessionMark); owner != Other {
		t.Errorf("a limit that is no whole page and a mark is of %d", owner)
	}
}

// TestNearestLimit: each limit around a process, and which of them is nearest.
func TestNearestLimit(t *testing.T) {
	const gib = 1 << 30
	machine := process.MachineMemory{Total: 20 * gib, Available: 11 * gib}
	status := process.Status{DataBytes: 300 << 20, ResidentAnonBytes: 100 << 20}
	group := func(version int, path string, limit, high, usage, cache int64) process.Cgroup {
		return process.Cgroup{Version: version, Path: path, Limit: limit, High: high, Usage: usage, Cache: cache}
	}
	const none = process.NoLimit
	for name, c := range map[string]struct {
		groups    []process.Cgroup
		processes int
		want      Choice
	}{
		"the machine": {nil, 1, Choice{100<<20 + 10*gib, "the machine's memory"}},
		"no limits": {[]process.Cgroup{group(2, "/a", none, none, gib, 0)}, 1,
			Choice{100<<20 + 10*gib, "the machine's memory"}},
		"version 2": {[]process.Cgroup{group(2, "/a", 2*gib, none, gib, gib/2)}, 1,
			Choice{100<<20 + 3*gib/2 - gib/10, "memory.max of control group /a"}},
		"slowed down": {[]process.Cgroup{group(2, "/a", 4*gib, 2*gib, gib, 0)}, 1,
			Choice{100<<20 + gib - gib/10, "memory.high of control group /a"}},
		"an ancestor": {[]process.Cgroup{group(1, "/a/b", 9*gib, none, gib, 0), group(1, "/a", 4*gib, none, 2*gib, 0)},
			1,
			Choice{100<<20 + 2*gib - gib/5, "memory.limit_in_bytes of control group /a"}},
		"a small one": {[]process.Cgroup{group(2, "/a", 600<<20, none, 120<<20, 20<<20)}, 1,
			Choice{(100 + 500 - 64) << 20, "memory.max of control group /a"}},
		"it is shared": {[]process.Cgroup{group(2, "/a", 4*gib, none, 0, 0)}, 4,
			Choice{100<<20 + (4*gib-gib/5)/4, "memory.max of control group /a"}},
	} {
		c.want.Bytes = thisMachine.whole(c.want.Bytes)
		if got, err := Rule(status, c.groups, machine, c.processes); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
	// Memory that is mapped and untouched may be touched: with 300 MiB mapped and 100 occupied, 150 more are no limit.
	small := []process.Cgroup{group(2, "/a", 600<<20, none, 386<<20, 0)}
	if got, err := Rule(status, small, machine, 1); !errors.Is(err, ErrNoRoom) {
		t.Errorf("%+v, %v; want %v", got, err, ErrNoRoom)
	}
}

// TestLimitIsSetAndPutBack: the soft limit of a process is set and put back; a limit that somebody has set meanwhile
// stays.
func TestLimitIsSetAndPutBack(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	id, err := proc.Identity(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	soft := func() uint64 {
		var now unix.Rlimit
		if err := prlimit(id.PID, nil, &now); err != nil {
			t.Fatal(err)
		}
		return now.Cur
	}
	before := soft()
	i, err := impose(id, 1<<30, sessionMark)
	if err != nil || soft() != i.ours || i.before != before {
		t.Fatalf("imposed %+v on %d, %v; it is %d", i, before, err, soft())
	}
	// A second session takes the present limit for left behind.
	if again, err := impose(id, 2<<30, sessionMark); err != nil || again.before != before {
		t.Errorf("imposed again: %+v, %v", again, err)
	}
	if was, err := putBack(id, i); was || err != nil || soft() != 2<<30|sessionMark {
		t.Errorf("put back though it was not ours any more: %v, %v, %d", was, err, soft())
	}
	if _, err := impose(id, 1<<10, sessionMark); !errors.Is(err, ErrMapped) {
		t.Errorf("a limit below what is mapped: %v", err)
	}
	if err := Clear(id); err != nil || soft() != before {
		t.Errorf("cleared: %v, %d", err, soft())
	}
	if err := unix.Prlimit(id.PID, unix.RLIMIT_DATA, &unix.Rlimit{Cur: 1 << 29, Max: 1 << 31}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := impose(id, 1<<30, sessionMark); !errors.Is(err, ErrTighter) {
		t.Errorf("above the process's own: %v", err)
	}
	if _, err := impose(id, 1<<32, sessionMark); !errors.Is(err, ErrHard) {
		t.Errorf("above the hard limit: %v", err)
	}
	other := id
	other.StartTicks++
	if _, err := impose(other, 1<<28, sessionMark); !errors.Is(err, process.ErrNoProcess) || soft() != 1<<29 {
		t.Errorf("another process with this pid: %v, %d", err, soft())
	}
}

func TestUserOf(t *testing.T) {
	u, err := UserOf(os.Getpid())
	if err != nil || int(u.UID) != os.Getuid() || int(u.GID) != os.Getgid() {
		t.Errorf("%+v, %v", u, err)
	}
}
