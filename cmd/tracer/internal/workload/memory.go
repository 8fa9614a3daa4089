package workload

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"ipytracer/event"
)

const mib = 1 << 20

// The meters a workload may move, by their public ids.
var (
	Mapped   = event.Mapped.String()
	Resident = event.Resident.String()
	Anon     = event.ResidentAnon.String()
	File     = event.ResidentFile.String()
	Shmem    = event.ResidentShmem.String()
)

var private = []string{Mapped, Resident, Anon}

// All are the workloads of the self-test, in this order.
var All = []Workload{
	{Name: "spike", About: "48 MiB mapped, touched, released", Meters: private, run: spike},
	{Name: "blip", About: "4 MiB for about a millisecond", Meters: private, run: blip},
	{Name: "untouched", About: "256 MiB mapped, never touched", Meters: private, run: untouched},
	{Name: "zero-page", About: "64 MiB read, never written", Meters: private, run: zeroPage},
	{Name: "mremap", About: "8 MiB grown to 40 MiB by mremap", Meters: private, run: mremap},
	{Name: "brk", About: "the heap up by 32 MiB and down again", Meters: private, run: brk},
	{Name: "mprotect", About: "PROT_NONE made writable, 16 of 32 MiB", Meters: private, run: mprotect},
	{
		Name: "dontneed", About: "32 MiB given back by MADV_DONTNEED, half taken again", Meters: private[1:],
		run: dontNeed,
	},
	{Name: "staircase", About: "partial unmaps in the middle of 48 MiB", Meters: private, run: staircase},
	{Name: "file", About: "a file mapped and read", Meters: []string{Resident, File}, run: fileMapping},
	{Name: "file-cow", About: "a private file mapping written to", Meters: private, run: fileCOW},
	{Name: "shared", About: "32 MiB of shared anonymous memory", Meters: []string{Resident, Shmem}, run: shared},
	{Name: "memfd", About: "32 MiB of a memfd, then a hole punched", Meters: []string{Resident, Shmem}, run: memfd},
	{Name: "huge", About: "64 MiB in transparent huge pages", Meters: private, run: huge},
	{Name: "threads", About: "eight threads at once, then at a barrier", Meters: private, run: threads},
	{Name: "fork", About: "a forked child writes to 16 of 32 shared MiB", Meters: private, Tree: true, run: fork},
	{Name: "exec", About: "a child that executes a program with a peak", Meters: private, run: execChild},
	{Name: "storm", About: "1,500 rising peaks in a row", Meters: private, run: storm},
}

const (
	readWrite = unix.PROT_READ | unix.PROT_WRITE
	anonymous = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
)

// mapMemory makes the raw system call, and returns the memory as a slice that Go's runtime does not know.
func mapMemory(fd, size, prot, flags int) []byte {
	p := must(unix.MmapPtr(fd, 0, nil, uintptr(size), prot, flags))
	return unsafe.Slice((*byte)(p), size)
}

func unmap(memory []byte) {
	check(unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(memory)), uintptr(len(memory))))
}

func (s *stage) touch(memory []byte) {
	for i := 0; i < len(memory); i += s.pages {
		memory[i] = 1
	}
}

func (s *stage) look(memory []byte) (sum byte) {
	for i := 0; i < len(memory); i += s.pages {
		sum += memory[i]
	}
	return sum
}

func spike(s *stage) {
	m := mapMemory(-1, 48*mib, readWrite, anonymous)
	s.touch(m)
	s.peak()
	unmap(m)
}

func blip(s *stage) {
	base := mapMemory(-1, 16*mib, readWrite, anonymous)
	s.touch(base)
	m := mapMemory(-1, 4*mib, readWrite, anonymous|unix.MAP_POPULATE)
	s.peak()
	unmap(m)
	unmap(base)
}

func untouched(s *stage) {
	base := mapMemory(-1, 16*mib, readWrite, anonymous)
	s.touch(base)
	m := mapMemory(-1, 256*mib, readWrite, anonymous)
	s.peak()
	unmap(m)
	unmap(base)
}

func zeroPage(s *stage) {
	base := mapMemory(-1, 16*mib, readWrite, anonymous)
	s.touch(base)
	m := mapMemory(-1, 64*mib, readWrite, anonymous)
	runtime.KeepAlive(s.look(m))
	s.peak()
	unmap(m)
	unmap(base)
}

func mremap(s *stage) {
	m := mapMemory(-1, 8*mib, readWrite, anonymous)
	s.touch(m)
	p := must(unix.MremapPtr(unsafe.Pointer(unsafe.SliceData(m)), 8*mib, nil, 40*mib, unix.MREMAP_MAYMOVE))
	m = unsafe.Slice((*byte)(p), 40*mib)
	s.touch(m)
	s.peak()
	unmap(m)
}

// setBreak moves the end of the heap and returns the new one.
func setBreak(to uintptr) uintptr {
	at, _, _ := unix.RawSyscall(unix.SYS_BRK, to, 0, 0)
	return at
}

func brk(s *stage) {
	const size = 32 * mib
	from := setBreak(0)
	to := setBreak(from + size)
	if to != from+size {
		panic("brk: out of memory")
	}
	s.touch(unsafe.Slice(*(**byte)(unsafe.Pointer(&from)), size))
	s.peak()
	setBreak(from)
}

func mprotect(s *stage) {
	m := mapMemory(-1, 32*mib, unix.PROT_NONE, anonymous)
	half := m[8*mib : 24*mib]
	check(unix.Mprotect(half, readWrite))
	s.touch(half)
	s.peak()
	check(unix.Mprotect(half, unix.PROT_NONE))
	unmap(m)
}

func dontNeed(s *stage) {
	m := mapMemory(-1, 32*mib, readWrite, anonymous)
	s.touch(m)
	s.peak()
	check(unix.Madvise(m, unix.MADV_DONTNEED))
	s.touch(m[:16*mib])
	unmap(m)
}

func staircase(s *stage) {
	m := mapMemory(-1, 48*mib, readWrite, anonymous)
	s.touch(m)
	unmap(m[16*mib : 24*mib])
	more := mapMemory(-1, 24*mib, readWrite, anonymous)
	s.touch(more)
	s.peak()
	unmap(m[:16*mib])
	unmap(m[24*mib:])
	unmap(more)
}

// ownFile opens the program's own file, which is some megabytes of page cache.
func ownFile() (fd, size int) {
	fd = must(unix.Open("/proc/self/exe", unix.O_RDONLY|unix.O_CLOEXEC, 0))
	var st unix.Stat_t
	check(unix.Fstat(fd, &st))
	return fd, int(st.Size)
}

func fileMapping(s *stage) {
	fd, size := ownFile()
	m := mapMemory(fd, size, unix.PROT_READ, unix.MAP_PRIVATE)
	runtime.KeepAlive(s.look(m))
	s.peak()
	unmap(m)
}

func fileCOW(s *stage) {
	fd, size := ownFile()
	m := mapMemory(fd, size, readWrite, unix.MAP_PRIVATE)
	runtime.KeepAlive(s.look(m))
	s.touch(m)
	s.peak()
	unmap(m)
}

func shared(s *stage) {
	m := mapMemory(-1, 32*mib, readWrite, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	s.touch(m)
	s.peak()
	unmap(m)
}

func memfd(s *stage) {
	fd := must(unix.MemfdCreate("workload", unix.MFD_CLOEXEC))
	check(unix.Ftruncate(fd, 32*mib))
	m := mapMemory(fd, 32*mib, readWrite, unix.MAP_SHARED)
	s.touch(m)
	s.peak()
	check(unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 24*mib))
	unmap(m)
}

func huge(s *stage) {
	m := mapMemory(-1, 64*mib, readWrite, anonymous)
	_ = unix.Madvise(m, unix.MADV_HUGEPAGE) // a kernel without them uses small ones
	s.touch(m)
	s.peak()
	unmap(m)
}

// storm makes a change of the stream each time a peak is over.
func storm(s *stage) {
	const steps = 1500
	for i := 1; i <= steps; i++ {
		m := mapMemory(-1, i*s.pages, readWrite, anonymous)
		s.touch(m[(i-1)*s.pages:])
		unmap(m)
	}
	m := mapMemory(-1, max(32*mib, 2*steps*s.pages), readWrite, anonymous) // above the others, with large pages too
	s.touch(m[:32*mib])
	s.peak()
	unmap(m)
}
