// Package hostile serves tests of attacks. It bounds the memory and the processor time that one input may cost a reader
// of a target's bytes. It also makes inputs: well-formed ones with sizes, counts and depths that nobody needs.
package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Time is the most processor time that one input may cost a reader, garbage collection included. It is enough for a
// program with the fuzzer's counters of coverage. It is processor time, so a busy machine does not matter.
const Time = 5 * time.Second * slowdown

// Cost is the cost of an input. Bytes is what the input allocated. If that is more than the limit, Bytes is the largest
// memory that was reachable at once. In both cases the input never had more.
type Cost struct {
	Bytes uint64
	Time  time.Duration // of processors
}

// Fuzz calls f.Fuzz with target. An input may take limit bytes of memory, and [Time]. An input that takes more ends the
// process at once, with the stacks of all goroutines, so that an endless reader cannot exhaust the machine. Fuzz also
// bounds the process: its address space, and the heap that Go's garbage collector aims at.
func Fuzz(f *testing.F, limit uint64, target any) {
	f.Helper()
	defer bound(limit)()
	w := watch(f, limit)
	defer w.stop()
	function := reflect.ValueOf(target)
	f.Fuzz(reflect.MakeFunc(function.Type(), func(args []reflect.Value) []reflect.Value {
		w.begin(args[0].Interface().(*testing.T).Name())
		defer w.end()
		return function.Call(args)
	}).Interface())
}

// Run runs a subtest with the bounds of an input of [Fuzz], and returns its cost. No other test of the process may run
// meanwhile.
func Run(t *testing.T, name string, limit uint64, test func(*testing.T)) Cost {
	t.Helper()
	defer bound(limit)()
	w := watch(t, limit)
	defer w.stop()
	t.Run(name, func(t *testing.T) {
		w.begin(t.Name())
		defer w.end()
		test(t)
	})
	return w.most
}

// What a process may have beside an input's memory, in bytes. These limits stop an input that is faster than the
// watcher: it fails to allocate.
const (
	spareSpace  = 1 << 30   // address space for the runtime, which reserves large pieces
	workerSpace = 128 << 20 // address space that the fuzzing coordinator shares with each worker
	mostSpace   = 64 << 30  // a process with more has the race detector, which reserves terabytes: it gets no limit
	spareHeap   = 128 << 20
)

// bound limits the address space and the heap of the process, and returns a function that restores the old limits.
func bound(limit uint64) (restore func()) {
	debug.SetTraceback("all")
	heap := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(heap, int64(limit+spareHeap)))
	restoreSpace := boundSpace(limit)
	return func() {
		debug.SetMemoryLimit(heap)
		restoreSpace()
	}
}

// boundSpace limits the address space of the process, and returns a function that restores the old limit.
func boundSpace(limit uint64) (restore func()) {
	var old syscall.Rlimit
	size := addressSpace()
	if size == 0 || size >= mostSpace || syscall.Getrlimit(syscall.RLIMIT_AS, &old) != nil {
		return func() {}
	}
	if most := size + limit + spareSpace + uint64(runtime.GOMAXPROCS(0))*workerSpace; most < old.Max {
		_ = syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: most, Max: old.Max})
	}
	return func() { _ = syscall.Setrlimit(syscall.RLIMIT_AS, &old) }
}

// addressSpace returns the size of this process's address space, in bytes; 0 on a system that is not Linux.
func addressSpace() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	var pages uint64
	if _, scanErr := fmt.Sscan(string(text), &pages); err != nil || scanErr != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}

// hugePages is the least memory, in bytes, that Linux may add to Go's heap by rounding up to huge pages. For a large
// heap it is a quarter of the heap.
const hugePages = 16 << 20

// reading is what the process has taken so far, in bytes and processor time.
type reading struct {
	allocated uint64 // all allocations on Go's heap
	objects   uint64 // Go's heap, with garbage
	stacks    uint64
	outside   uint64 // memory that Go's runtime does not know, such as that of mmap(2)
	time      time.Duration
}

// reader reads what this process has taken.
type reader struct {
	samples [metricCount]metrics.Sample
	statm   *os.File // nil on a system that is not Linux
}

// The indices of metrics in a reader's samples.
const (
	allocatedBytes = iota
	objectBytes
	stackBytes
	totalBytes    // all memory that Go's runtime has mapped
	releasedBytes // the part of totalBytes that was given back to Linux
	metricCount
)

// newReader returns a reader of this process.
func newReader() *reader {
	statm, _ := os.Open("/proc/self/statm")
	return &reader{[...]metrics.Sample{
		allocatedBytes: {Name: "/gc/heap/allocs:bytes"}, objectBytes: {Name: "/memory/classes/heap/objects:bytes"},
		stackBytes: {Name: "/memory/classes/heap/stacks:bytes"}, totalBytes: {Name: "/memory/classes/total:bytes"},
		releasedBytes: {Name: "/memory/classes/heap/released:bytes"},
	}, statm}
}

// read returns what the process has taken so far.
func (r *reader) read() reading {
	metrics.Read(r.samples[:])
	value := func(metric int) uint64 { return r.samples[metric].Value.Uint64() }
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	runtimes := value(totalBytes) - value(releasedBytes)
	return reading{
		value(allocatedBytes), value(objectBytes), value(stackBytes),
		above(r.anonymous(), runtimes+max(runtimes/4, hugePages)),
		time.Duration(usage.Utime.Nano() + usage.Stime.Nano()),
	}
}

// anonymous returns the resident memory without pages of files (proc_pid_statm(5)), in bytes; 0 if it is not known.
func (r *reader) anonymous() uint64 {
	var text [128]byte
	n, _ := r.statm.ReadAt(text[:], 0)
	var size, resident, shared uint64
	if _, err := fmt.Sscan(string(text[:n]), &size, &resident, &shared); err != nil {
		return 0
	}
	return above(resident, shared) * uint64(os.Getpagesize())
}

// watcher checks that each input, one after another, stays within a limit.
type watcher struct {
	limit  uint64
	target string // the name of the test
	ended  chan struct{}

	mu      sync.Mutex // protects the fields below
	reader  *reader
	input   string  // the name of the subtest; "" between two inputs
	before  reading // at the beginning of the input
	outside uint64  // the most memory outside of Go's runtime that the input has had
	largest uint64  // the most reachable memory that the input has had; 0 if it allocated less than the limit
	most    Cost    // the largest cost of an input so far
}

// watch returns a watcher that checks the process every 5 milliseconds.
func watch(t testing.TB, limit uint64) *watcher {
	w := &watcher{limit: limit, target: t.Name(), ended: make(chan struct{}), reader: newReader()}
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				w.mu.Lock()
				if w.input != "" {
					w.check()
				}
				w.mu.Unlock()
			case <-w.ended:
				return
			}
		}
	}()
	return w
}

// stop ends the checks. No input may run.
func (w *watcher) stop() {
	close(w.ended)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reader.statm.Close()
}

// begin begins an input.
func (w *watcher) begin(input string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.input, w.outside, w.largest, w.before = input, 0, 0, w.reader.read()
}

// end ends the input, checks it a last time, and notes its cost if that is the largest.
func (w *watcher) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	cost := w.check()
	w.input = ""
	if cost.Bytes > w.most.Bytes || cost.Time > w.most.Time {
		w.most = Cost{max(w.most.Bytes, cost.Bytes), max(w.most.Time, cost.Time)}
		note(w.target, w.most)
	}
}

// check returns the cost of the present input so far, and panics if it is over a limit.
func (w *watcher) check() Cost {
	now := w.reader.read()
	w.outside = max(w.outside, above(now.outside, w.before.outside))
	cost := Cost{
		Bytes: now.allocated - w.before.allocated + above(now.stacks, w.before.stacks) + w.outside,
		Time:  now.time - w.before.time,
	}
	if cost.Bytes > w.limit { // a part of what was allocated may be garbage
		if w.reachable(now) > w.limit {
			runtime.GC()
			now = w.reader.read()
		}
		w.largest = max(w.largest, w.reachable(now))
		cost.Bytes = w.largest
	}
	if cost.Bytes > w.limit || cost.Time > Time {
		panic(fmt.Sprintf("%s took %d bytes and %v of processors; it may take %d and %v", w.input, cost.Bytes,
			cost.Time, w.limit, Time))
	}
	return cost
}

// reachable returns the memory that the input has now, in bytes; with garbage, unless the collector has just run.
func (w *watcher) reachable(now reading) uint64 {
	return above(now.objects+now.stacks, w.before.objects+w.before.stacks) + above(now.outside, w.before.outside)
}

// above returns by how much now is more than before; 0 if it is less.
func above(now, before uint64) uint64 { return max(now, before) - before }

// costs is the variable with the folder in which scripts/fuzz.sh looks for the costs of targets.
const costs = "TRACER_FUZZ_COSTS"

// note writes the largest cost of a target in this process to a file for scripts/fuzz.sh. It is called for each new
// largest cost, because a worker of the fuzzer is killed in the end.
func note(target string, most Cost) {
	folder := os.Getenv(costs)
	if folder == "" {
		return
	}
	line := fmt.Sprintf("%d %d\n", most.Bytes, most.Time.Microseconds())
	path := filepath.Join(folder, fmt.Sprintf("%s.%d", filepath.Base(target), os.Getpid()))
	if err := os.WriteFile(path, []byte(line), 0o644); err != nil {
		panic(err)
	}
}
