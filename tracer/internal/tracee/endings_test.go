package tracee

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/process"
)

// TestWhichLimitWasHit: the kernel's counts decide; where it counts nothing, the used-up limit does.
func TestWhichLimitWasHit(t *testing.T) {
	inner := process.Cgroup{Version: 2, Path: "/a/b", Limit: 1000, High: process.NoLimit}
	outer := process.Cgroup{Version: 2, Path: "/a", Limit: 5000, High: process.NoLimit}
	free := process.Cgroup{Version: 2, Path: "/", Limit: process.NoLimit, High: process.NoLimit}
	with := func(c process.Cgroup, ooms, peak int64) process.Cgroup {
		c.OOMs, c.Peak = ooms, peak
		return c
	}
	machine := process.MachineMemory{Total: 1 << 30, Available: 1 << 20}
	for _, c := range []struct {
		name        string
		before, now []process.Cgroup
		kind        event.LimitKind
		path        string
		likely      bool
	}{
		{"counted", []process.Cgroup{inner, outer}, []process.Cgroup{inner, with(outer, 1, 4000)}, event.LimitCgroup,
			"/a", false},
		{"counted before, too", []process.Cgroup{with(inner, 3, 1000), outer},
			[]process.Cgroup{with(inner, 3, 990), with(outer, 1, 0)}, event.LimitCgroup, "/a", false},
		{"full", []process.Cgroup{inner, outer}, []process.Cgroup{with(inner, 0, 995), outer}, event.LimitCgroup,
			"/a/b", false},
		{"both full", []process.Cgroup{inner, outer}, []process.Cgroup{with(inner, 0, 1000), with(outer, 0, 5000)},
			event.LimitCgroup, "/a/b", true},
		{"neither is full", []process.Cgroup{inner}, []process.Cgroup{with(inner, 0, 500)}, event.LimitMachine, "",
			true},
		{"no limit", []process.Cgroup{free}, []process.Cgroup{free}, event.LimitMachine, "", false},
		{"nothing is known", nil, nil, event.LimitMachine, "", false},
	} {
		w := watch{before: c.before, was: c.now, now: c.now, machine: machine}
		got, likely := w.hit()
		if got.Kind != c.kind || got.Path != c.path || likely != c.likely {
			t.Errorf("%s: %+v, likely %v", c.name, got, likely)
		}
	}
}

// TestLimitOutOfSight: the limit of a group that cannot be seen is not known, and is not the machine's.
func TestLimitOutOfSight(t *testing.T) {
	for group, kind := range map[string]event.LimitKind{
		"1:/kubepods/pod": "", "2:/kubepods/pod": "", "2:/../other": "",
		"2:/": event.LimitMachine, "": event.LimitMachine,
	} {
		w := watch{group: group, machine: process.MachineMemory{Total: 1 << 30, Available: 1 << 20}}
		if got, likely := w.hit(); got.Kind != kind || likely {
			t.Errorf("%s: %+v, likely %v", group, got, likely)
		}
	}
}

// TestNearestLimitFirst: the limit with the least room comes first.
func TestNearestLimitFirst(t *testing.T) {
	w := watch{
		pid: 7, machine: process.MachineMemory{Total: 100, Available: 50},
		rlimits: []event.Limit{{Kind: event.LimitData, Bytes: 80, Used: 20}},
		now: []process.Cgroup{{Path: "/x\xff", Limit: 90, Usage: 85, Peak: 88},
			{Path: "/", Limit: process.NoLimit}},
	}
	l := w.limits(0, 3)
	if l.Root != 3 || l.PID != 7 || len(l.Limits) != 3 || l.Limits[0].Kind != event.LimitCgroup ||
		l.Limits[0].Path != "/x?" || l.Limits[1].Kind != event.LimitMachine {
		t.Errorf("%+v", l)
	}
}

// TestMovedToAnotherGroup: the limits of a process are those of its present group, with the kernel's counts since the
// move.
func TestMovedToAnotherGroup(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755),
			os.WriteFile(name, []byte(text+"\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("proc/self/mountinfo", "41 31 0:38 / "+dir+"/v2 rw - cgroup2 cgroup2 rw")
	write("proc/7/cgroup", "0::/user")
	write("v2/user/memory.current", "100")
	write("v2/small/memory.current", "200")
	write("v2/small/memory.max", "600")
	write("v2/small/memory.events.local", "oom 5")
	fs := process.FS{Root: dir + "/proc"}
	w := watchOf(fs, 7)
	if l := w.limits(0, 1).Limits; len(l) != 1 || l[0].Kind != event.LimitMachine {
		t.Fatalf("%+v", l)
	}
	write("proc/7/cgroup", "0::/small")
	w.update(fs, fs.MachineMemory())
	if l := w.limits(0, 1).Limits; len(l) != 2 || l[1].Path != "/small" || l[1].Bytes != 600 {
		t.Errorf("%+v", l)
	}
	write("v2/small/memory.events.local", "oom 6")
	w.update(fs, fs.MachineMemory())
	if got, likely := w.hit(); got.Path != "/small" || got.Used != 200 || likely {
		t.Errorf("%+v, likely %v", got, likely)
	}
}

// TestCalmWatch: where no record comes, limits are looked at more rarely.
func TestCalmWatch(t *testing.T) {
	all := Watches{FS: process.FS{Root: t.TempDir()}}
	for _, c := range []struct {
		since time.Duration
		calm  bool
		looks bool
	}{{watchEvery / 2, false, false}, {watchEvery, false, true}, {watchEvery, true, false}, {watchLong, true, true}} {
		w := &watch{looked: time.Now().Add(-c.since)}
		before := w.looked
		all.roots = map[uint32]*watch{0: w}
		if all.Look(c.calm); w.looked.Equal(before) == c.looks {
			t.Errorf("%+v: looked %v", c, !w.looked.Equal(before))
		}
	}
}
