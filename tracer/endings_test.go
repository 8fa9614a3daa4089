package tracer

import (
	"testing"

	"ipytracer/tracer/event"
	"ipytracer/tracer/process"
)

// TestWhichLimitWasHit: what the kernel counted decides; where it counts nothing, what was used up.
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
		{"counted", []process.Cgroup{inner, outer}, []process.Cgroup{inner, with(outer, 1, 4000)}, event.LimitCgroup, "/a", false},
		{"counted before, too", []process.Cgroup{with(inner, 3, 1000), outer}, []process.Cgroup{with(inner, 3, 990), with(outer, 1, 0)}, event.LimitCgroup, "/a", false},
		{"full", []process.Cgroup{inner, outer}, []process.Cgroup{with(inner, 0, 995), outer}, event.LimitCgroup, "/a/b", false},
		{"both full", []process.Cgroup{inner, outer}, []process.Cgroup{with(inner, 0, 1000), with(outer, 0, 5000)}, event.LimitCgroup, "/a/b", true},
		{"neither is full", []process.Cgroup{inner}, []process.Cgroup{with(inner, 0, 500)}, event.LimitMachine, "", true},
		{"no limit", []process.Cgroup{free}, []process.Cgroup{free}, event.LimitMachine, "", false},
		{"nothing is known", nil, nil, event.LimitMachine, "", false},
	} {
		w := watch{before: c.before, now: c.now, machine: machine}
		got, likely := w.hit(c.now)
		if got.Kind != c.kind || got.Path != c.path || likely != c.likely {
			t.Errorf("%s: %+v, likely %v", c.name, got, likely)
		}
	}
}

// TestNearestLimitFirst: what is about to be used up comes first.
func TestNearestLimitFirst(t *testing.T) {
	w := watch{
		pid: 7, machine: process.MachineMemory{Total: 100, Available: 50},
		rlimits: []event.Limit{{Kind: event.LimitData, Bytes: 80, Used: 20}},
		now:     []process.Cgroup{{Path: "/x\xff", Limit: 90, Usage: 85, Peak: 88}, {Path: "/", Limit: process.NoLimit}},
	}
	l := w.limits(3)
	if l.Root != 3 || l.PID != 7 || len(l.Limits) != 3 || l.Limits[0].Kind != event.LimitCgroup || l.Limits[0].Path != "/x?" || l.Limits[1].Kind != event.LimitMachine {
		t.Errorf("%+v", l)
	}
}
