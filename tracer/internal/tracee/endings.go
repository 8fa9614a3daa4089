package tracee

// [Watches] report how attached processes end. It watches from outside the limits on their memory, so that it
// can name the limit that was hit if the OOM killer comes.

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// watch holds the limits on the memory of an attached process, as seen from outside: to name the limit that was hit if
// the OOM killer comes.
type watch struct {
	pid      int
	group    string           // the process's memory group, see process.Proc.MemoryGroup
	before   []process.Cgroup // the groups when the process was put there, or at the attach
	was, now []process.Cgroup // the groups at the last look but one, and at the last look
	rlimits  []event.Limit
	machine  process.MachineMemory
	looked   time.Time
}

// Watches are the watches of a session's targets, by root.
type Watches struct {
	FS    process.FS
	Now   func() event.Nanoseconds // returns the time of the clock of events
	roots map[uint32]*watch
}

// The intervals at which the use of a target's limits is examined. A look takes three system calls for each file, which
// would be most of the tracer's work beside many idle kernels. At the end of a process the limits are examined anyway;
// the last look is used only if the group is gone.
const (
	watchEvery = time.Second            // the shortest interval
	watchShare = 200 * time.Millisecond // the interval grows by this for each target
	watchLong  = 5 * time.Second        // the longest interval, also if no record comes of any target
)

// Begin examines the limits on a target's memory, and begins to watch them.
func (all *Watches) Begin(pid int, root uint32) *event.Limits {
	w := watchOf(all.FS, pid)
	if r, err := all.FS.Proc(pid).Rlimits(); err == nil {
		status, _ := all.FS.Proc(pid).Status()
		if r.Data.Soft != process.NoLimit {
			w.rlimits = append(w.rlimits, event.Limit{Kind: event.LimitData, Bytes: event.Bytes(r.Data.Soft),
				Used: event.Bytes(status.DataBytes)})
		}
		if r.AddressSpace.Soft != process.NoLimit {
			w.rlimits = append(w.rlimits, event.Limit{Kind: event.LimitSpace, Bytes: event.Bytes(r.AddressSpace.Soft)})
		}
	}
	if all.roots == nil {
		all.roots = map[uint32]*watch{}
	}
	all.roots[root] = w
	return w.limits(all.Now(), root)
}

// watchOf begins to watch the limits of a process. A process that has ended stays in its cgroup of version 2 until its
// parent has waited for it, so the limits can be read then, too.
func watchOf(fs process.FS, pid int) *watch {
	w := &watch{pid: pid, looked: time.Now(), machine: fs.MachineMemory()}
	w.group, _ = fs.Proc(pid).MemoryGroup()
	w.before, _ = fs.Proc(pid).MemoryCgroups() // after an error the groups are unknown
	w.was, w.now = w.before, slices.Clone(w.before)
	return w
}

// End ends the watch of a root.
func (all *Watches) End(root uint32) { delete(all.roots, root) }

// Look updates the use of the limits. Groups that no longer exist keep their last values. calm: no target has sent a
// record of late.
func (all *Watches) Look(calm bool) {
	every := min(max(watchEvery, time.Duration(len(all.roots))*watchShare), watchLong)
	if calm {
		every = watchLong
	}
	var due []*watch
	for _, w := range all.roots {
		if time.Since(w.looked) >= every {
			due = append(due, w)
		}
	}
	if len(due) == 0 {
		return
	}
	machine := all.FS.MachineMemory()
	for _, w := range due {
		w.update(all.FS, machine)
	}
}

// Last returns the final state of the limits, in the order of the roots.
func (all *Watches) Last() (out []event.Event) {
	for _, root := range slices.Sorted(maps.Keys(all.roots)) {
		w := all.roots[root]
		w.update(all.FS, all.FS.MachineMemory())
		out = append(out, w.limits(all.Now(), root))
	}
	return out
}

func (w *watch) update(fs process.FS, machine process.MachineMemory) {
	if group, ok := fs.Proc(w.pid).MemoryGroup(); ok && group != w.group {
		moved := watchOf(fs, w.pid)
		moved.rlimits = w.rlimits
		*w = *moved
		return
	}
	w.looked = time.Now()
	w.machine = machine
	w.was = slices.Clone(w.now)
	for i, c := range w.now {
		if c.Limit == process.NoLimit {
			continue
		}
		if again, ok := c.Again(); ok {
			w.now[i] = again
		}
	}
}

// limits returns all limits, ordered by the bytes that are left, the least first.
func (w *watch) limits(at event.Nanoseconds, root uint32) *event.Limits {
	out := &event.Limits{Time: at, Root: root, PID: int32(w.pid), Limits: slices.Clone(w.rlimits)}
	for _, c := range w.now {
		if c.Limit != process.NoLimit {
			out.Limits = append(out.Limits, cgroupLimit(c))
		}
	}
	out.Limits = append(out.Limits, w.machineLimit())
	slices.SortStableFunc(out.Limits, func(a, b event.Limit) int { return cmp.Compare(a.Bytes-a.Used, b.Bytes-b.Used) })
	return out
}

func cgroupLimit(c process.Cgroup) event.Limit {
	return event.Limit{
		Kind: event.LimitCgroup, Path: strings.ToValidUTF8(c.Path, "?"), Bytes: event.Bytes(c.Limit),
		Used: event.Bytes(c.Usage), Highest: event.Bytes(c.Peak),
	}
}

func (w *watch) machineLimit() event.Limit {
	return event.Limit{Kind: event.LimitMachine, Bytes: event.Bytes(w.machine.Total),
		Used: event.Bytes(w.machine.Total - w.machine.Available)}
}

// Ending describes how a process has ended, when the record of its end is read.
func (all *Watches) Ending(b *event.Boundary, extra ledger.BoundaryExtra) *event.Ending {
	e := &event.Ending{Time: b.Time, Root: b.Root, PID: b.PID, Status: extra.Status, OutOfMemory: extra.OutOfMemory}
	if w := all.roots[b.Root]; w != nil && e.OutOfMemory {
		w.update(all.FS, all.FS.MachineMemory())
		group, ok := all.FS.Proc(int(b.PID)).MemoryGroup()
		if ok && group != w.group { // a worker in a group of its own
			w = watchOf(all.FS, int(b.PID))
		}
		e.Limit, e.Likely = w.hit()
	}
	return e
}

// nearly: a cgroup counts as full if its use was within 1/nearly of its limit when the OOM killer came. The rest may be
// pages that CPUs hold back (MEMCG_CHARGE_BATCH, 64 pages each).
const nearly = 100

// hit returns the limit that was used up when the OOM killer came, the zero value if it is not known. Cgroups of
// version 2 count, for each group, the kills that its own limit caused; groups of version 1 have only the highest use.
// likely: the limit is a guess. It is not known if the process's group cannot be seen from the tracer's container.
func (w *watch) hit() (l event.Limit, likely bool) {
	if len(w.now) == 0 && w.group != "" && !strings.HasSuffix(w.group, ":/") {
		return event.Limit{}, false
	}
	var full []process.Cgroup
	limited := false
	for i, c := range w.now {
		if c.Limit == process.NoLimit {
			continue
		}
		limited = true
		if i < len(w.before) && c.OOMs > w.before[i].OOMs {
			used := cgroupLimit(c)
			used.Used = max(used.Used, event.Bytes(w.was[i].Usage))
			return used, false
		}
		if c.Peak >= c.Limit-c.Limit/nearly {
			full = append(full, c)
		}
	}
	if len(full) > 0 { // the innermost: it was full before those around it
		return cgroupLimit(full[0]), len(full) > 1
	}
	return w.machineLimit(), limited
}
