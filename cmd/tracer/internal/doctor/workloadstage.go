package doctor

import (
	"fmt"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stage has the open files and touched buffers of a workload, so that reading its memory does not change it.
type stage struct {
	status, smaps     int // of this process
	first, second     reading
	pages, pid        int    // the size of a page; the process ID
	toParent, toChild [2]int // pipes between parent and forked child
	// ballast raises mapped memory above its maximum during the start (thread stacks, arenas). It is never touched, and
	// unmapped right after the reading at the peak.
	ballast []byte
}

// reading is the raw text of /proc/PID/status and /proc/PID/smaps at one instant.
type reading struct {
	status, smaps         [1 << 18]byte
	statusSize, smapsSize int
}

func newStage() *stage {
	s := &stage{pages: os.Getpagesize(), pid: os.Getpid()}
	for _, r := range []*reading{&s.first, &s.second} {
		for i := range r.status {
			r.status[i], r.smaps[i] = 1, 1
		}
	}
	s.open()
	s.peak() // so that its code is in memory
	// Let the runtime's own goroutines run, and their threads start, before the workload begins.
	for range 3 {
		runtime.Gosched()
		time.Sleep(2 * time.Millisecond)
	}
	s.ballast = mapMemory(-1, 256*mib, readWrite, anonymous)
	return s
}

// open opens the files of this process. A forked child calls it again.
func (s *stage) open() {
	s.status = must(unix.Open("/proc/self/status", unix.O_RDONLY|unix.O_CLOEXEC, 0))
	s.smaps = must(unix.Open("/proc/self/smaps", unix.O_RDONLY|unix.O_CLOEXEC, 0))
}

// peak reads the process's memory twice. If the readings differ, other memory has moved, and the truth is unknown. The
// workload calls peak at its peak, and must free its memory right after.
func (s *stage) peak() {
	s.read(&s.first)
	s.read(&s.second)
	if s.ballast != nil {
		unmap(s.ballast)
		s.ballast = nil
	}
}

func (s *stage) read(r *reading) {
	r.statusSize, r.smapsSize = readAll(s.status, r.status[:]), readAll(s.smaps, r.smaps[:])
}

func readAll(fd int, into []byte) (size int) {
	for size < len(into) {
		// A raw call, so that Go's scheduler does not see it and starts no thread.
		got, _, errno := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(fd), uintptr(unsafe.Pointer(&into[size])),
			uintptr(len(into)-size), uintptr(size), 0, 0)
		if errno != 0 {
			panic(errno)
		}
		if got == 0 {
			return size
		}
		size += int(got)
	}
	panic("the process has too many mappings for the buffer")
}

// send writes both readings to the parent, when the workload is over.
func (s *stage) send() {
	for _, r := range []*reading{&s.first, &s.second} {
		write(reportFD, fmt.Appendf(nil, "%d %d %d\n", s.pid, r.statusSize, r.smapsSize))
		write(reportFD, r.status[:r.statusSize])
		write(reportFD, r.smaps[:r.smapsSize])
	}
}

func write(fd int, data []byte) {
	for len(data) > 0 {
		data = data[must(unix.Write(fd, data)):]
	}
}

// must panics on an error: a workload has nothing to clean up.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// reportFD is the descriptor for a workload's readings: the first of exec.Cmd.ExtraFiles.
const reportFD = 3

// Workload is a program of known truth: it allocates memory, reads its page tables at its peak, and frees the memory.
type Workload struct {
	Name  string
	About string // for people
	// Meters have their peak at the instant of the reading.
	Meters []string
	// Tree says that the truths of all processes are of one instant. The tree's truth is their sum, less shared memory.
	Tree bool
	// Copied is what the child copies of the memory that it shares, in bytes, besides some pages of the runtime's.
	Copied int64
	run    func(*stage)
}

const mib = 1 << 20

// mapMemory calls mmap, and returns the memory as a slice that Go's runtime does not know.
func mapMemory(fd, size, prot, flags int) []byte {
	p := must(unix.MmapPtr(fd, 0, nil, uintptr(size), prot, flags))
	return unsafe.Slice((*byte)(p), size)
}

func unmap(memory []byte) {
	check(unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(memory)), uintptr(len(memory))))
}

// touch writes to each page.
func (s *stage) touch(memory []byte) {
	for i := 0; i < len(memory); i += s.pages {
		memory[i] = 1
	}
}

// mapTouched maps private memory of a size in bytes, and touches it.
func (s *stage) mapTouched(size int) []byte {
	memory := mapMemory(-1, size, readWrite, anonymous)
	s.touch(memory)
	return memory
}

// readPages reads from each page. The sum keeps the compiler from leaving that out.
func (s *stage) readPages(memory []byte) (sum byte) {
	for i := 0; i < len(memory); i += s.pages {
		sum += memory[i]
	}
	return sum
}

const (
	readWrite = unix.PROT_READ | unix.PROT_WRITE
	anonymous = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
)
