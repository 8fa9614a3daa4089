package doctor

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

func spike(s *stage) {
	m := s.mapTouched(48 * mib)
	s.peak()
	unmap(m)
}

func blip(s *stage) {
	base := s.mapTouched(16 * mib)
	m := mapMemory(-1, 4*mib, readWrite, anonymous|unix.MAP_POPULATE)
	s.peak()
	unmap(m)
	unmap(base)
}

func untouched(s *stage) {
	base := s.mapTouched(16 * mib)
	m := mapMemory(-1, 256*mib, readWrite, anonymous)
	s.peak()
	unmap(m)
	unmap(base)
}

func zeroPage(s *stage) {
	base := s.mapTouched(16 * mib)
	m := mapMemory(-1, 64*mib, readWrite, anonymous)
	runtime.KeepAlive(s.readPages(m))
	s.peak()
	unmap(m)
	unmap(base)
}

func mremap(s *stage) {
	m := s.mapTouched(8 * mib)
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
	m := s.mapTouched(32 * mib)
	s.peak()
	check(unix.Madvise(m, unix.MADV_DONTNEED))
	s.touch(m[:16*mib])
	unmap(m)
}

func staircase(s *stage) {
	m := s.mapTouched(48 * mib)
	unmap(m[16*mib : 24*mib])
	more := s.mapTouched(24 * mib)
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
	runtime.KeepAlive(s.readPages(m))
	s.peak()
	unmap(m)
}

func fileCOW(s *stage) {
	fd, size := ownFile()
	m := mapMemory(fd, size, readWrite, unix.MAP_PRIVATE)
	runtime.KeepAlive(s.readPages(m))
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
	_ = unix.Madvise(m, unix.MADV_HUGEPAGE) // a kernel without huge pages uses small ones
	s.touch(m)
	s.peak()
	unmap(m)
}

// storm makes many rising peaks, each of which causes a change record.
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
