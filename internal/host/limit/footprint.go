package limit

// A [Meter] measures the memory of this program, with the memory that the Linux kernel keeps for it, and the limits on
// that memory: of the control groups that the program is in, and its own (RLIMIT_DATA, RLIMIT_AS). The OOM killer kills
// a program that goes beyond a limit of a control group, without a message. Go's runtime ends a program that goes
// beyond its own limit.

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"

	"ipytracer/internal/host/process"
)

// Bound is a limit on the memory of this program, alone or with other programs of a control group.
type Bound struct {
	// Name is the limit's name for administrators, such as "memory.max of control group /a/b". It is hostile where it
	// names a group.
	Name string
	// Bytes is the limit. Used is the memory that counts against it now. It leaves out memory that Linux takes back
	// before it refuses anything, and memory that Go has mapped and does not use. Own is the part of Used that is
	// certainly this program's.
	Bytes, Used, Own int64
}

// Room returns how many bytes are left; never negative.
func (b *Bound) Room() int64 { return max(0, b.Bytes-b.Used) }

// Footprint is the program's memory at one moment.
type Footprint struct {
	// Resident is the program's physical memory (VmRSS), code and mapped files included.
	Resident int64
	// Kernel is the memory of the kernel half's maps, which Linux charges to the program's control group since 5.11.
	Kernel int64
	// Bound is the limit with the least room left; nil where there is none.
	Bound *Bound
}

// Meter measures the footprint of this program. It is for one goroutine.
type Meter struct {
	fs     process.FS
	kernel func() int64
	free   func() int64 // memory that Go has and does not use
	pid    int
	group  string
	groups []process.Cgroup
	limit  int64 // Go's limit; 0: it was not set
	before int64 // the limit before it was set
}

// NewMeter returns a meter. kernel returns the kernel half's memory in bytes; nil: it has none.
func NewMeter(fs process.FS, kernel func() int64) *Meter {
	if kernel == nil {
		kernel = func() int64 { return 0 }
	}
	return &Meter{fs: fs, kernel: kernel, free: unusedByGo, pid: os.Getpid()}
}

// Kernel sets the function that returns the kernel half's memory.
func (m *Meter) Kernel(kernel func() int64) { m.kernel = kernel }

// Look measures the footprint. A limit that cannot be read counts as none.
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

// cgroups returns the groups that the program is in now: the user who started it may move it to others.
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

// rlimits are the program's own limits. They count mapped memory, touched or not.
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

// goMemory returns all memory that Go has mapped, and the part that Go does not use. It does not matter whether Go has
// given that part back to Linux.
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

// InUse returns how many bytes Go has in use, with garbage. The call takes a microsecond or two.
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
// its collector runs more often before anything is refused. At least a quarter of the bound is this program's, whatever
// else shares the bound. KeepBelow does nothing where there is no bound, or where GOMEMLIMIT sets the limit.
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

// Restore sets Go's memory limit to its earlier value.
func (m *Meter) Restore() {
	if m.limit != 0 {
		debug.SetMemoryLimit(m.before)
		m.limit = 0
	}
}

// Near reports whether less than margin bytes are left below the bound, and at least a quarter of it is this program's.
// Where another program fills a control group, it gains nothing to give something up.
func (f *Footprint) Near(margin int64) bool {
	return f.Bound != nil && f.Bound.Room() < margin && f.Bound.Own >= f.Bound.Bytes/4
}

// Collect has Go's collector run, and gives the freed memory back to the kernel.
func Collect() { debug.FreeOSMemory() }

// TooSmallError says that a bound leaves less memory than is needed.
type TooSmallError struct {
	Bound Bound
	Needs int64 // bytes
}

func (e *TooSmallError) Error() string {
	return fmt.Sprintf("%s is %d bytes, of which %d are left; %d are needed", e.Bound.Name, e.Bound.Bytes,
		e.Bound.Room(), e.Needs)
}
