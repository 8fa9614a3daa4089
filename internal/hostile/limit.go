// Package hostile serves tests of attacks: it holds readers of a target's bytes to bounds: the memory and the processor
// time that one input may cost. It has inputs for them, too: well-formed ones with sizes, counts and depths that nobody
// needs.
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

// Time is the most processor time that one input may cost any reader, garbage collection included, in a program that
// counts the coverage of the fuzzer. A busy machine does not add to it.
const Time = 5 * time.Second * slowdown

// Cost is the largest cost of one input so far. Bytes is what the input allocated, or, where that is more than the
// limit, the largest heap that was reachable at once. So the heap was never larger.
type Cost struct {
	Bytes uint64
	Time  time.Duration
}

// Fuzz is f.Fuzz of a function, each input of which may take so many bytes of heap and stacks, and [Time]. An input
// beyond that ends the process with the stacks of all goroutines, at once, so that no endless reader takes the machine
// along. Fuzz bounds the process, too: its address space, and the heap that Go's garbage collector aims at.
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

// Run runs a subtest that is held to a limit as an input of [Fuzz] is. The process must run no other test meanwhile.
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

// process limits: an attack that the watcher is too slow for fails to allocate.
const (
	spareSpace  = 1 << 30   // for the runtime, which reserves address space in large pieces
	workerSpace = 128 << 20 // that the fuzzing coordinator shares with each worker
	mostSpace   = 64 << 30  // more is the race detector's, which reserves terabytes and is given no limit
	spareHeap   = 128 << 20
)

// bound bounds the process, and returns a function that restores its bounds.
func bound(limit uint64) (restore func()) {
	debug.SetTraceback("all")
	heap := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(heap, int64(limit+spareHeap)))
	var space syscall.Rlimit
	size := addressSpace()
	most := size + limit + spareSpace + uint64(runtime.GOMAXPROCS(0))*workerSpace
	if size > 0 && size < mostSpace && syscall.Getrlimit(syscall.RLIMIT_AS, &space) == nil && most < space.Max {
		_ = syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: most, Max: space.Max})
	}
	return func() {
		debug.SetMemoryLimit(heap)
		if space != (syscall.Rlimit{}) {
			_ = syscall.Setrlimit(syscall.RLIMIT_AS, &space)
		}
	}
}

// addressSpace returns the size of this process's address space, or 0 where there is no Linux.
func addressSpace() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	var pages uint64
	if _, scanErr := fmt.Sscan(string(text), &pages); err != nil || scanErr != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}

// hugePages is memory that Linux may add to Go's heap, as it rounds up to huge pages; so is a quarter of a large one.
const hugePages = 16 << 20

// reading is what the process has taken. Outside is memory that Go's runtime does not know: that of mmap(2).
type reading struct {
	allocated, objects, stacks, outside uint64
	time                                time.Duration
}

// reader reads what this process has taken.
type reader struct {
	samples [5]metrics.Sample
	statm   *os.File // nil where there is no Linux
}

func newReader() *reader {
	statm, _ := os.Open("/proc/self/statm")
	return &reader{[...]metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"}}, statm}
}

func (r *reader) read() reading {
	metrics.Read(r.samples[:])
	of := func(i int) uint64 { return r.samples[i].Value.Uint64() }
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	heap := of(3) - of(4)
	return reading{of(0), of(1), of(2), above(r.anonymous(), heap+max(heap/4, hugePages)),
		time.Duration(usage.Utime.Nano() + usage.Stime.Nano())}
}

// anonymous returns the resident memory without files (proc_pid_statm(5)), 0 where it is not known.
func (r *reader) anonymous() uint64 {
	var text [128]byte
	n, _ := r.statm.ReadAt(text[:], 0)
	var size, resident, shared uint64
	if _, err := fmt.Sscan(string(text[:n]), &size, &resident, &shared); err != nil {
		return 0
	}
	return above(resident, shared) * uint64(os.Getpagesize())
}

// watcher holds inputs, one at a time, to a limit.
type watcher struct {
	limit  uint64
	target string
	ended  chan struct{}

	mu      sync.Mutex // held while one of the fields below is read or changed
	reader  *reader
	input   string // the test's name, or empty between two inputs
	before  reading
	outside uint64 // the most so far
	largest uint64 // what was reachable at once, of an input that allocated more than the limit
	most    Cost
}

// watch begins to look at the process every few milliseconds.
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

func (w *watcher) stop() {
	close(w.ended)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reader.statm.Close()
}

func (w *watcher) begin(input string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.input, w.outside, w.largest, w.before = input, 0, 0, w.reader.read()
}

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

// check ends the process if the input has cost more than it may.
func (w *watcher) check() Cost {
	now := w.reader.read()
	w.outside = max(w.outside, above(now.outside, w.before.outside))
	cost := Cost{now.allocated - w.before.allocated + above(now.stacks, w.before.stacks) + w.outside,
		now.time - w.before.time}
	if cost.Bytes > w.limit {
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

func (w *watcher) reachable(now reading) uint64 {
	return above(now.objects+now.stacks, w.before.objects+w.before.stacks) + above(now.outside, w.before.outside)
}

func above(now, before uint64) uint64 { return max(now, before) - before }

// costs names the folder in which scripts/fuzz.sh looks for the costs of targets.
const costs = "TRACER_FUZZ_COSTS"

// note writes the largest costs of a target that this process has seen, for scripts/fuzz.sh: a worker is killed at the
// end, so it writes as it goes.
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
