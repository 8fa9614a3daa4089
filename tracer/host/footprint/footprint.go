// Package footprint knows how much memory this program takes, together with what the Linux kernel keeps for it, and how
// much it may take: the limits of the control groups that it is in, and its own (RLIMIT_DATA, RLIMIT_AS). A program
// that goes beyond the one is killed by the OOM killer without a word, and beyond the other ended by Go's runtime.
package footprint

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"

	"ipytracer/tracer/host/process"
)

// Bound is a limit on the memory of this program, alone or with what shares a control group with it.
type Bound struct {
	// Name is the limit as administrators know it, such as "memory.max of control group /a/b"; hostile where it names a
	// group.
	Name string
	// Bytes is the limit. Used is what counts in it now, without what the kernel takes back before it refuses anything,
	// and without what Go has mapped and does not use. Own is as much of that as is certainly this program's.
	Bytes, Used, Own int64
}

// Room is how many bytes are left; never negative.
func (b *Bound) Room() int64 { return max(0, b.Bytes-b.Used) }

// Footprint is what the program takes at one moment.
type Footprint struct {
	// Resident is what the program has in physical memory (VmRSS), code and mapped files included.
	Resident int64
	// Kernel is what the kernel half's maps take, which Linux charges to the program's control group since 5.11.
	Kernel int64
	// Bound is the limit of which least is left; nil where there is none.
	Bound *Bound
}

// Meter measures the footprint of this program. It is for one goroutine.
type Meter struct {
	fs     process.FS
	kernel func() int64
	free   func() int64 // what Go has and does not use
	pid    int
	group  string
	groups []process.Cgroup
	limit  int64 // Go's, 0: it was not set
	before int64 // what it was
}

// New makes a meter. kernel returns what the kernel half takes, in bytes; nil: nothing.
func New(fs process.FS, kernel func() int64) *Meter {
	if kernel == nil {
		kernel = func() int64 { return 0 }
	}
	return &Meter{fs: fs, kernel: kernel, free: unusedByGo, pid: os.Getpid()}
}

// Kernel has the meter ask somebody else what the kernel half takes.
func (m *Meter) Kernel(kernel func() int64) { m.kernel = kernel }

// Look measures. What cannot be read limits nothing.
func (m *Meter) Look() Footprint {
	status, err := m.fs.Proc(m.pid).Status()
	if err != nil {
		return Footprint{}
	}
	f := Footprint{Resident: status.ResidentBytes, Kernel: m.kernel()}
	var all []Bound
	for _, c := range m.cgroups() {
		all = append(all, cgroupBounds(c, status.ResidentAnonBytes+status.ResidentShmemBytes+f.Kernel)...)
	}
	all = append(all, m.rlimits(status)...)
	if len(all) > 0 {
		least := slices.MinFunc(all,
			func(a, b Bound) int { return cmp.Or(cmp.Compare(a.Room(), b.Room()), cmp.Compare(a.Bytes, b.Bytes)) })
		f.Bound = &least
	}
	return f
}

// cgroups are the groups that the program is in now: whoever started it may move it.
func (m *Meter) cgroups() []process.Cgroup {
	group, known := m.fs.Proc(m.pid).MemoryGroup()
	if !known || group != m.group || len(m.groups) == 0 {
		m.group = group
		m.groups, _ = m.fs.Proc(m.pid).MemoryCgroups()
		return m.groups
	}
	for i, c := range m.groups {
		if again, ok := c.Again(); ok {
			m.groups[i] = again
		}
	}
	return m.groups
}

// cgroupBounds are the limits of one group.
func cgroupBounds(c process.Cgroup, own int64) (all []Bound) {
	used := max(0, c.Usage-c.Cache)
	own = min(own, used)
	add := func(limit int64, format string) {
		if limit != process.NoLimit {
			all = append(all, Bound{Name: fmt.Sprintf(format, strings.ToValidUTF8(c.Path, "?")), Bytes: limit,
				Used: used, Own: own})
		}
	}
	if c.Version == 1 {
		add(c.Limit, "memory.limit_in_bytes of control group %s")
		if c.Above < c.Limit {
			add(c.Above, "the memory limit of a control group around %s")
		}
		return all
	}
	add(c.Limit, "memory.max of control group %s")
	add(c.High, "memory.high of control group %s")
	return all
}

// rlimits are the program's own limits. They count what is mapped, touched or not.
func (m *Meter) rlimits(status process.Status) (all []Bound) {
	limits, err := m.fs.Proc(m.pid).Rlimits()
	if err != nil {
		return nil
	}
	free := m.free()
	for _, one := range []struct {
		name        string
		limit, used int64
	}{{"RLIMIT_DATA", limits.Data.Soft, status.DataBytes},
		{"RLIMIT_AS", limits.AddressSpace.Soft, status.AddressSpaceBytes}} {
		if used := max(0, one.used-free); one.limit != process.NoLimit {
			all = append(all, Bound{Name: one.name, Bytes: one.limit, Used: used, Own: used})
		}
	}
	return all
}

// goMemory are what Go has mapped in all, and what of that it does not use, whether the kernel has it back or not.
var goMemory = []string{"/memory/classes/total:bytes", "/memory/classes/heap/free:bytes",
	"/memory/classes/heap/released:bytes"}

func readGo() (all [3]int64) {
	samples := make([]metrics.Sample, len(goMemory))
	for i, name := range goMemory {
		samples[i].Name = name
	}
	metrics.Read(samples)
	for i := range samples {
		if samples[i].Value.Kind() == metrics.KindUint64 {
			all[i] = int64(min(samples[i].Value.Uint64(), math.MaxInt64))
		}
	}
	return all
}

// InUse is how much memory Go has in use, garbage included, in bytes. It takes a microsecond or two.
func InUse() int64 {
	all := readGo()
	return all[0] - all[1] - all[2]
}

func unusedByGo() int64 {
	all := readGo()
	return all[1] + all[2]
}

// leastForGo is the least that Go's memory is limited to, in bytes: with less its collector would run all the time.
const leastForGo = 20 << 20

// KeepBelow sets Go's soft memory limit (debug.SetMemoryLimit) so that about margin bytes stay free below the bound:
// its collector runs more often before anything is refused. A quarter of the bound is this program's in any case,
// whatever else shares it. Where there is no bound, or GOMEMLIMIT says what the limit is, it does nothing.
func (m *Meter) KeepBelow(f *Footprint, margin int64) {
	if f.Bound == nil || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	all := readGo()
	limit := max(all[0]-all[2]+f.Bound.Room()-margin, f.Bound.Bytes/4-f.Kernel, leastForGo)
	if away := limit - m.limit; m.limit != 0 && max(away, -away) < limit/64 {
		return // each change stops the program for a moment
	}
	if before := debug.SetMemoryLimit(limit); m.limit == 0 {
		m.before = before
	}
	m.limit = limit
}

// Restore sets Go's memory limit to what it was.
func (m *Meter) Restore() {
	if m.limit != 0 {
		debug.SetMemoryLimit(m.before)
		m.limit = 0
	}
}

// Near reports whether less than margin bytes are left below the bound, and it is this program that has a good part of
// it: a quarter. Where another one fills a control group there is nothing to be gained by giving something up.
func (f *Footprint) Near(margin int64) bool {
	return f.Bound != nil && f.Bound.Room() < margin && f.Bound.Own >= f.Bound.Bytes/4
}

// Collect has Go's collector run, and gives what it frees back to the kernel.
func Collect() { debug.FreeOSMemory() }

// TooSmallError says that less is left below a bound than is needed.
type TooSmallError struct {
	Bound Bound
	Needs int64 // bytes
}

func (e *TooSmallError) Error() string {
	return fmt.Sprintf("%s is %d bytes, of which %d are left; %d are needed", e.Bound.Name, e.Bound.Bytes,
		e.Bound.Room(), e.Needs)
}
