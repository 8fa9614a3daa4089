package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
	"unsafe"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// workload is a program of known truth: it takes memory, says at its peak what its page tables hold, and lets go.
type workload struct {
	name  string
	about string // for people
	// meters whose peak is the one at which the truth is read.
	meters []string
	tree   bool // the truths of all its processes were read at one instant: the tree's is their sum, less what is shared
	run    func(*stage)
}

// reportFD is where a workload's readings go: the first of exec.Cmd.ExtraFiles.
const reportFD = 3

func newWorkloadCommand(console) *cobra.Command {
	return &cobra.Command{
		Use:    "workload NAME",
		Short:  "Run one workload of the self-test",
		Hidden: true,
		Args:   usageArgs(cobra.ExactArgs(1)),
		RunE:   func(_ *cobra.Command, args []string) error { return runWorkload(args[0]) },
	}
}

// errWorkload is what a workload that could not do its work ends with.
var errWorkload = errors.New("the workload could not do its work")

func runWorkload(name string) (err error) {
	if run := loops[name]; run != nil {
		return run(os.Stdin, os.Stdout)
	}
	if name == "costs" {
		return printCosts(os.Stdout)
	}
	w, ok := findWorkload(name)
	if !ok {
		return usageError{fmt.Errorf("there is no workload %q", name)}
	}
	// Whatever the runtime may do of its own accord would be noise at the peak.
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(1)
	runtime.LockOSThread()
	defer func() {
		if failure := recover(); failure != nil {
			err = fmt.Errorf("%w: %v: %v", errWorkload, name, failure)
		}
	}()
	s := newStage()
	w.run(s)
	s.send()
	return nil
}

// workloadEnv is the surroundings a workload needs: no signals of the scheduler, no collector.
func workloadEnv() []string {
	env := []string{"GOGC=off", "GODEBUG=asyncpreemptoff=1", "GOMAXPROCS=1"}
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "GO") {
			env = append(env, e)
		}
	}
	return env
}

func findWorkload(name string) (workload, bool) {
	for _, w := range workloads {
		if w.name == name {
			return w, true
		}
	}
	return workload{}, false
}

// stage is what a workload stands on: open files and touched buffers, so that to look changes nothing.
type stage struct {
	status, smaps int // of this process
	first, second reading
	pages, pid    int
	toUs, fromUs  [2]int // pipes between parent and forked child
	// ballast, never touched, raises what is mapped above anything the start needed for a moment (thread stacks,
	// arenas). It goes with the peak.
	ballast []byte
}

// reading is the raw text of /proc/PID/status and /proc/PID/smaps at one instant.
type reading struct {
	status, smaps [1 << 18]byte
	n, m          int
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

// peak reads the truth, twice: if the two differ something else moved, and nobody can say what the peak was. What
// the workload does next must be to let its memory go.
func (s *stage) peak() {
	s.read(&s.first)
	s.read(&s.second)
	if s.ballast != nil {
		unmap(s.ballast)
		s.ballast = nil
	}
}

func (s *stage) read(r *reading) {
	r.n, r.m = readAll(s.status, r.status[:]), readAll(s.smaps, r.smaps[:])
}

func readAll(fd int, into []byte) (n int) {
	for n < len(into) {
		// Raw, so that the scheduler does not hear of it and starts no thread meanwhile.
		got, _, errno := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(fd), uintptr(unsafe.Pointer(&into[n])), uintptr(len(into)-n), uintptr(n), 0, 0)
		if errno != 0 {
			panic(errno)
		}
		if got == 0 {
			return n
		}
		n += int(got)
	}
	panic("the process has too many mappings for the buffer")
}

// send hands both readings to whoever started the workload, once there is nothing to disturb any more.
func (s *stage) send() {
	for _, r := range []*reading{&s.first, &s.second} {
		write(reportFD, fmt.Appendf(nil, "%d %d %d\n", s.pid, r.n, r.m))
		write(reportFD, r.status[:r.n])
		write(reportFD, r.smaps[:r.m])
	}
}

func write(fd int, data []byte) {
	for len(data) > 0 {
		data = data[must(unix.Write(fd, data)):]
	}
}

// must gives up on an error: a workload has nothing to clean up.
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
