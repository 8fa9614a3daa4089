package workload

import (
	"fmt"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stage has the open files and touched buffers of a workload, so that its readings change nothing.
type stage struct {
	status, smaps int // of this process
	first, second reading
	pages, pid    int
	toUs, fromUs  [2]int // pipes between parent and forked child
	// ballast, never touched, raises mapped memory above the maximum during the start (thread stacks, arenas). It goes
	// with the peak.
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
	s.peak() // so that the code is there
	// The runtime's own goroutines get to run, and their threads to start, while it does not matter.
	for range 3 {
		runtime.Gosched()
		time.Sleep(2 * time.Millisecond)
	}
	s.ballast = mapMemory(-1, 256*mib, readWrite, anonymous)
	return s
}

// open opens the files of the process that runs now; a forked child does it again.
func (s *stage) open() {
	s.status = must(unix.Open("/proc/self/status", unix.O_RDONLY|unix.O_CLOEXEC, 0))
	s.smaps = must(unix.Open("/proc/self/smaps", unix.O_RDONLY|unix.O_CLOEXEC, 0))
}

// peak reads the truth, twice. If the two differ, other memory moved, and the peak is not known. The workload must free
// its memory right after it.
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
		// a raw call, so that the scheduler does not see it and starts no thread meanwhile
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

// send writes both readings to the parent, once nothing can be disturbed any more.
func (s *stage) send() {
	for _, r := range []*reading{&s.first, &s.second} {
		write(ReportFD, fmt.Appendf(nil, "%d %d %d\n", s.pid, r.statusSize, r.smapsSize))
		write(ReportFD, r.status[:r.statusSize])
		write(ReportFD, r.smaps[:r.smapsSize])
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

// ReportFD is the descriptor for a workload's readings: the first of exec.Cmd.ExtraFiles.
const ReportFD = 3

// Workload is a program of known truth: it allocates memory, reads its page tables at its peak, and frees the memory.
type Workload struct {
	Name  string
	About string // for people
	// Meters are those with their peak at the instant of the reading.
	Meters []string
	// Tree: the truths of all its processes were read at one instant. The tree's truth is their sum, less shared
	// memory.
	Tree bool
	run  func(*stage)
}

const mib = 1 << 20

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

// touched maps private memory of a size, and touches it.
func (s *stage) touched(size int) []byte {
	memory := mapMemory(-1, size, readWrite, anonymous)
	s.touch(memory)
	return memory
}

func (s *stage) look(memory []byte) (sum byte) {
	for i := 0; i < len(memory); i += s.pages {
		sum += memory[i]
	}
	return sum
}

const (
	readWrite = unix.PROT_READ | unix.PROT_WRITE
	anonymous = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
)
