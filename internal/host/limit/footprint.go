package limit

// A [Meter] measures the memory of this program, with that of its maps in Linux, and the limits on that memory: those
// of the program's control groups, and its own (RLIMIT_DATA, RLIMIT_AS). Beyond a limit of a control group, the OOM
// killer kills the program without a message. Beyond its own limit, Go's runtime ends the program.

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

// Bound is a limit on the memory of this program, alone or with other programs of a control group. Sizes are in bytes.
type Bound struct {
	// Name is the limit's name for administrators, such as "memory.max of control group /a/b". The name of a group is
	// hostile text.
	Name  string
	Bytes int64 // the limit
	// Used is the memory that counts against the limit now. It leaves out memory that Linux reclaims before it refuses
	// anything, and memory that Go has mapped but does not use.
	Used int64
	Own  int64 // the part of Used that is certainly this program's
}

// Room returns how many bytes are left. It is never negative.
func (b *Bound) Room() int64 { return max(0, b.Bytes-b.Used) }

// Footprint is the program's memory at one moment.
type Footprint struct {
	// Resident is the program's physical memory (VmRSS), code and mapped files included.
	Resident int64
	// Kernel is the memory of the kernel half's maps, which Linux charges to the program's control group since 5.11.
	Kernel int64
	// Bound is the limit with the least room; nil if there is no limit.
	Bound *Bound
}

// Meter measures the footprint of this program. It is for one goroutine.
type Meter struct {
	fs     process.FS
	kernel func() int64
	free   func() int64 // returns the memory that Go has but does not use
	pid    int
	group  string // the name of the group that groups begins with
	groups []process.Cgroup
	limit  int64 // Go's memory limit as KeepBelow has set it; 0: not set
	before int64 // Go's memory limit before that
}

// NewMeter returns a meter. kernel returns the kernel half's memory in bytes; a nil kernel stands for 0.
func NewMeter(fs process.FS, kernel func() int64) *Meter {
	if kernel == nil {
		kernel = func() int64 { return 0 }
	}
	return &Meter{fs: fs, kernel: kernel, free: unusedByGo, pid: os.Getpid()}
}

// Kernel sets the function that returns the kernel half's memory.
func (m *Meter) Kernel(kernel func() int64) { m.kernel = kernel }

// Look measures the footprint. A limit that cannot be read is left out.
func (m *Meter) Look() Footprint {
	status, err := m.fs.Proc(m.pid).Status()
	if err != nil {
		return Footprint{}
	}
	f := Footprint{Resident: status.ResidentBytes, Kernel: m.kernel()}
	var bounds []Bound
	for _, c := range m.cgroups() {
		own := status.ResidentAnonBytes + status.ResidentShmemBytes + f.Kernel
		bounds = append(bounds, cgroupBounds(c, own)...)
	}
	bounds = append(bounds, m.rlimits(status)...)
	if len(bounds) > 0 {
		least := slices.MinFunc(bounds, func(a, b Bound) int {
			return cmp.Or(cmp.Compare(a.Room(), b.Room()), cmp.Compare(a.Bytes, b.Bytes))
		})
		f.Bound = &least
	}
	return f
}

// cgroups returns the groups that the program is in now. The user who started the program may move it to other groups.
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

// cgroupBounds returns the limits of one group. own is the memory of this program that counts against them.
func cgroupBounds(c process.Cgroup, own int64) (bounds []Bound) {
	used := max(0, c.Usage-c.Cache)
	own = min(own, used)
	add := func(limit int64, format string) {
		if limit != process.NoLimit {
			name := fmt.Sprintf(format, strings.ToValidUTF8(c.Path, "?"))
			bounds = append(bounds, Bound{Name: name, Bytes: limit, Used: used, Own: own})
		}
	}
	if c.Version == 1 {
		add(c.Limit, "memory.limit_in_bytes of control group %s")
		if c.Above < c.Limit {
			add(c.Above, "the memory limit of a control group around %s")
		}
		return bounds
	}
	add(c.Limit, "memory.max of control group %s")
	add(c.High, "memory.high of control group %s")
	return bounds
}

// rlimits returns the program's own limits. They count mapped memory, touched or not.
func (m *Meter) rlimits(status process.Status) (bounds []Bound) {
	limits, err := m.fs.Proc(m.pid).Rlimits()
	if err != nil {
		return nil
	}
	free := m.free()
	for _, own := range []struct {
		name        string
		limit, used int64
	}{
		{"RLIMIT_DATA", limits.Data.Soft, status.DataBytes},
		{"RLIMIT_AS", limits.AddressSpace.Soft, status.AddressSpaceBytes},
	} {
		if used := max(0, own.used-free); own.limit != process.NoLimit {
			bounds = append(bounds, Bound{Name: own.name, Bytes: own.limit, Used: used, Own: used})
		}
	}
	return bounds
}

// goMemory is Go's own memory in bytes.
type goMemory struct {
	total    int64 // that Go has mapped
	free     int64 // the unused part that Go has not given back to Linux
	released int64 // the unused part that Go has given back to Linux
}

// unused returns the part that Go does not use.
func (g goMemory) unused() int64 { return g.free + g.released }

// readGo reads the sizes of Go's memory.
func readGo() (g goMemory) {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(samples)
	for i, size := range []*int64{&g.total, &g.free, &g.released} {
		if samples[i].Value.Kind() == metrics.KindUint64 {
			*size = int64(min(samples[i].Value.Uint64(), math.MaxInt64))
		}
	}
	return g
}

// InUse returns how many bytes Go uses, with garbage. The call takes a microsecond or two.
func InUse() int64 {
	g := readGo()
	return g.total - g.unused()
}

func unusedByGo() int64 { return readGo().unused() }

// leastForGo is the lowest memory limit for Go in bytes. With less, its collector would run all the time.
const leastForGo = 20 << 20

const (
	// ownShare is the part of a bound, one in so many, that this program may always use.
	ownShare = 4
	// leastChange is the part of Go's memory limit, one in so many, by which the limit must change to be set again.
	leastChange = 64
)

// KeepBelow sets Go's soft memory limit (debug.SetMemoryLimit) so that about margin bytes stay free below the bound.
// Go's collector then runs more often before Linux refuses memory. This program may always use a quarter of the bound,
// whatever other programs use. KeepBelow does nothing if there is no bound, or if GOMEMLIMIT sets Go's limit.
func (m *Meter) KeepBelow(f *Footprint, margin int64) {
	if f.Bound == nil || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	g := readGo()
	limit := max(g.total-g.released+f.Bound.Room()-margin, f.Bound.Bytes/ownShare-f.Kernel, leastForGo)
	if change := limit - m.limit; m.limit != 0 && max(change, -change) < limit/leastChange {
		return // setting a limit stops the program for a moment
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

// Near reports whether this program should give up memory: less than margin bytes are left below the bound, and at
// least a quarter of the bound is this program's. If another program fills a control group, it would be of no use.
func (f *Footprint) Near(margin int64) bool {
	return f.Bound != nil && f.Bound.Room() < margin && f.Bound.Own >= f.Bound.Bytes/ownShare
}

// Collect runs Go's collector, and gives the freed memory back to Linux.
func Collect() { debug.FreeOSMemory() }

// TooSmallError is the error for a bound that leaves less memory than is needed.
type TooSmallError struct {
	Bound Bound
	Needs int64 // bytes
}

func (e *TooSmallError) Error() string {
	return fmt.Sprintf("%s is %d bytes, of which %d are left; %d are needed", e.Bound.Name, e.Bound.Bytes,
		e.Bound.Room(), e.Needs)
}
