package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/code/elffile"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// heapProgram builds testdata/workloads/heapcounts.c.
func heapProgram(t *testing.T, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "heapcounts")
	build := exec.Command("gcc", append([]string{"-O1", "-w", "-pthread", "-o", program,
		"../testdata/workloads/heapcounts.c"}, flags...)...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// runWithHeap runs a command under `tracer run --heap`, and returns what it printed and the report.
func runWithHeap(t *testing.T, flags, environment []string, command ...string) (printed string, r *model.Report) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.json")
	args := slices.Concat([]string{"run", "--heap", "--quiet", "--budget", "off", "--format", "json", "-o", out}, flags,
		[]string{"--"}, command)
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), environment...)
	var said strings.Builder
	cmd.Stderr = &said
	got, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	return string(got), readReport(t, out)
}

// heapOf returns the heap of a report's only program, as the program counts it: the most, and what it has at its end.
func heapOf(t *testing.T, r *model.Report) (model.Figure, string) {
	t.Helper()
	f := r.Processes[0].Meters[event.Heap.String()]
	return f, fmt.Sprintf("%d %d\n", f.Peak, f.End)
}

// TestHeapCountedInCommand: `tracer run --heap` has its command count malloc's blocks itself. The most and the last
// figure are the program's own, byte for byte, from its first block on: of all functions, sizes and alignments, and
// beside a forked child, which the library leaves alone.
func TestHeapCountedInCommand(t *testing.T) {
	together(t)
	program := heapProgram(t)
	for _, args := range [][]string{
		{"random", "1", "50000"}, {"random", "2", "50000"}, {"random", "3", "50000"}, {"fork"},
	} {
		printed, r := runWithHeap(t, nil, nil, append([]string{program}, args...)...)
		f, says := heapOf(t, r)
		if printed != says || !f.Exact || f.Accuracy != model.CountedInProcess {
			t.Errorf("%v: %+v, and it had %s", args, f, printed)
		}
		if !slices.Contains(r.Certificate.Attribution.Incomplete, words.HeapCounted) {
			t.Errorf("%v: the certificate does not say who counted: %v", args, r.Certificate.Attribution.Incomplete)
		}
	}
	if printed, _ := runWithHeap(t, nil, nil, program, "told"); printed != "0 0\n" {
		t.Errorf("what it is told: %s", printed)
	}
}

// TestHeapCountedInThreads: four threads allocate at the same time, and the most is that of all, to the byte. What the
// C library has for a thread is in a run without blocks as well.
func TestHeapCountedInThreads(t *testing.T) {
	together(t)
	program := heapProgram(t)
	_, r := runWithHeap(t, nil, nil, program, "threads", "0")
	idle, _ := heapOf(t, r)
	for range 3 {
		printed, r := runWithHeap(t, nil, nil, program, "threads", "2000")
		busy, _ := heapOf(t, r)
		if says := fmt.Sprintf("%d %d\n", busy.Peak-idle.Peak, busy.End-idle.End); printed != says || !busy.Exact {
			t.Errorf("%+v beyond %+v, and they had %s", busy, idle, printed)
		}
	}
}

// TestHeapNotCounted: a program that does not allow it runs as it would, and the report does not claim anything: one
// that is linked statically, or gets rights by its file, or another program that a counted one executes. It finds
// nothing of the tracer's in its environment.
func TestHeapNotCounted(t *testing.T) {
	together(t)
	setuid := heapProgram(t)
	if err := os.Chmod(setuid, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!"+heapProgram(t, "-static")+" told\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	const unseen = "nothing of cpu.heap is seen"
	for what, command := range map[string][]string{
		"static": {heapProgram(t, "-static"), "told"}, "setuid": {setuid, "told"}, "executed": {heapProgram(t), "exec"},
		"script": {script},
	} {
		printed, r := runWithHeap(t, nil, nil, command...)
		problems := strings.Join(r.Certificate.Problems, "")
		if printed != "0 0\n" || r.Certificate.Complete || !strings.Contains(problems, unseen) {
			t.Errorf("%s: it prints %q, and the report says %q", what, printed, r.Certificate.Problems)
		}
	}
}

// heapCells has cells that take known amounts, and one in which malloc's blocks are counted in threads.
var heapCells = []struct {
	source     string
	need, grew int64
}{
	{"a = bytearray(100_000_000)", 100_000_001, 100_000_001},
	{"del a", 0, -100_000_001},
	{"c = bytearray(50_000_000); c = None", 50_000_001, 0},
	{"e = bytearray(70_000); e.extend(bytes(1_000_000)); del e", -1, 0},
	{"b = [bytearray(3000) for _ in range(10_000)]", -1, -1},
	{"b.clear()", -1, -1},
	{"k = [libc.malloc(n) for n in range(1000, 3000)]", -1, -1},
	{"for p in k: libc.free(p)", 0, -1999 * 2000},
	{"p = libc.realloc(libc.realloc(libc.malloc(1000), 100_000), 500)", 100_000, 500},
	{"libc.free(p)", 0, -500},
}

const heapShell = `
import ctypes, gc, sys
from IPython.core.interactiveshell import InteractiveShell
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.realloc.restype = ctypes.c_void_p
libc.malloc.argtypes, libc.realloc.argtypes = [ctypes.c_size_t], [ctypes.c_void_p, ctypes.c_size_t]
libc.free.argtypes, libc.free.restype = [ctypes.c_void_p], None
s = InteractiveShell.instance()
s.user_ns["libc"] = libc
p = k = a = b = c = e = None
s.user_ns.update(p=0, k=[], b=[], c=0, e=0)
gc.disable()
for cell in sys.argv[1:]:
    s.run_cell(cell)
`

// heapStatements runs heapCells in a Python, and returns what each statement needed and kept.
func heapStatements(t *testing.T, flags, environment []string) (all []model.Figure, r *model.Report) {
	t.Helper()
	command := []string{python(), "-c", heapShell}
	for _, c := range heapCells {
		command = append(command, c.source)
	}
	environment = append(environment, "PYTHONHASHSEED=0", "IPYTHONDIR="+t.TempDir())
	_, r = runWithHeap(t, flags, environment, command...)
	for _, w := range r.Windows {
		if w.Kind == model.Statement {
			all = append(all, w.Meters[event.Heap.String()])
		}
	}
	return all, r
}

// TestHeapCountsAsProbesDo: what a Python counts itself is, statement by statement, what the probes on malloc and free
// count, byte for byte, and what is known of each.
func TestHeapCountsAsProbesDo(t *testing.T) {
	together(t)
	own, r := heapStatements(t, nil, nil)
	if !slices.Contains(r.Certificate.Attribution.Incomplete, words.HeapCounted) || !r.Certificate.Complete {
		t.Errorf("certificate: %+v", r.Certificate)
	}
	probed, _ := heapStatements(t, []string{"--no-preload"}, nil)
	if len(own) != len(probed) || len(own) < len(heapCells) {
		t.Fatalf("%d statements, and %d by probes", len(own), len(probed))
	}
	for i := range own {
		if own[i].Accuracy != model.CountedInProcess || probed[i].Accuracy != "" || !own[i].Exact {
			t.Errorf("statement %d: %+v, by probes %+v", i, own[i], probed[i])
		}
		if probed[i].Exact && (own[i].Need() != probed[i].Need() || own[i].Consumed != probed[i].Consumed) {
			t.Errorf("statement %d: %d needed, %d kept; by probes %d, %d", i, own[i].Need(), own[i].Consumed,
				probed[i].Need(), probed[i].Consumed)
		}
	}
	cells := topCells(r, int(r.Processes[0].PID))
	if len(cells) != len(heapCells) {
		t.Fatalf("%d cells", len(cells))
	}
	lines := cells[0].Allocations
	if !slices.ContainsFunc(lines, func(a model.Allocation) bool {
		return a.Meter == event.Heap.String() && a.Allocated == 100_000_001 && len(a.Stack) > 0 && a.Stack[0].Line == 1
	}) {
		t.Errorf("the line of a large block is not known: %+v", lines)
	}
}

// TestHeapOfAnotherAllocator: the library stands back where another allocator is in the place of the C library's, and
// probes see that one.
func TestHeapOfAnotherAllocator(t *testing.T) {
	together(t)
	library := filepath.Join("/usr/lib", elffile.Triplet, "libjemalloc.so.2")
	if _, err := os.Stat(library); err != nil {
		t.Skip(err)
	}
	figures, r := heapStatements(t, nil, []string{"LD_PRELOAD=" + library})
	if len(figures) == 0 || figures[0].Need() != 100_000_001 || figures[0].Accuracy != "" {
		t.Errorf("%+v", figures)
	}
	isProbed := func(p model.Probe) bool { return strings.Contains(p.Site, "libjemalloc") }
	if !slices.ContainsFunc(r.Certificate.Probes, isProbed) {
		t.Errorf("probes: %+v", r.Certificate.Probes)
	}
}

// TestHeapPageScribbled: a cell that writes nonsense into its page ends the reading of it. From then on nobody knows
// how far the heap is off; every other figure stays.
func TestHeapPageScribbled(t *testing.T) {
	together(t)
	const scribble = "import ctypes; maps = open('/proc/self/maps').readlines(); " +
		"at = next(int(l.split('-')[0], 16) for l in maps if 'bpf-map' in l); " +
		"ctypes.c_uint64.from_address(at).value = 1 << 60"
	_, r := runWithHeap(t, nil, []string{"IPYTHONDIR=" + t.TempDir()}, python(), "-c", heapShell,
		"a = bytearray(10_000_000)", scribble, "b = bytearray(10_000_000)")
	cells := topCells(r, int(r.Processes[0].PID))
	if len(cells) != 3 {
		t.Fatalf("%d cells", len(cells))
	}
	if f := cells[0].Meters["cpu.heap"]; !f.Exact {
		t.Errorf("before: %+v", f)
	}
	for _, w := range cells[1:] {
		if f := w.Meters["cpu.heap"]; f.Exact || f.Bound != nil {
			t.Errorf("after: %+v", f)
		}
		if f := w.Meters["cpu.mapped"]; !f.Exact {
			t.Errorf("mapped: %+v", f)
		}
	}
}
