package e2e

import (
	"fmt"
	"path/filepath"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/model"
)

// TestStacks compares, for every allocation of cells that allocate from many places, the frames of the report with
// those of sys._getframe() at that moment.
func TestStacks(t *testing.T) {
	together(t)
	onPythons(t, "run_stacks.py", [][2]string{
		{"bullseye", "/usr/bin/python3.9"}, {"trixie", "/usr/bin/python3.13"}, {"sid", "/usr/bin/python3.14"},
		{"sid", "/usr/bin/python3.15"},
	}, checkStacks)
	t.Run("pbs311", func(t *testing.T) {
		root := filepath.Join(pythonsDir(), "pbs311")
		needTree(t, root)
		checkStacks(t, place{driver: "run_stacks.py", python: filepath.Join(root, "bin/python3.11"),
			env: []string{"IPYTRACER_LIBRARIES=/usr/lib/python3/dist-packages"}})
	})
}

func checkStacks(t *testing.T, p place) {
	t.Helper()
	w, results, r := tracedWorkload(t, p, "--budget", "off")
	checkCertificate(t, r)
	stacks := results[len(results)-1].Stacks
	windows := topCells(r, w.pid)
	if len(stacks) < 90 || len(windows) != len(results)-1 {
		t.Fatalf("%d stacks, %d windows of %d cells", len(stacks), len(windows), len(results)-1)
	}
	session := r.Windows[0]
	if c := session.Coverage["cpu.numpy"]; !c.Exact || c.Rest != 0 {
		t.Errorf("coverage of the session: %+v", c)
	}
	// Allocations from the same lines are one entry.
	matched := 0
	for _, a := range session.Allocations {
		if a.Meter != "cpu.numpy" || len(a.Stack) == 0 || a.Stack[0].Function != "alloc" {
			continue
		}
		var size, count int64
		nearest := "no stack has these lines"
		for _, s := range stacks {
			if said := compareStack(a.Stack, s.Frames); said == "" {
				size += s.Size
				count++
			} else if s.Size == a.Allocated {
				nearest = fmt.Sprintf("%s; want %v", said, s.Frames)
			}
		}
		if size != a.Allocated || count != a.Count {
			t.Errorf("%d bytes in %d allocations at %v: the process saw %d in %d there: %s", a.Allocated, a.Count,
				a.Stack, size, count, nearest)
		}
		matched += int(count)
	}
	if matched != len(stacks) {
		t.Errorf("%d of %d stacks are in the report", matched, len(stacks))
	}
	checkSums(t, r)
}

// manyFunctions is a cell that allocates in a given number of functions, each made, called once and kept, before it
// ends: their code objects and stacks are megabytes, and no boundary comes meanwhile.
const manyFunctions = `
import numpy as np
kept = []
for i in range(%[1]d):
    exec(f"def many_{i}():\n    return np.empty({4096 + 8 * i})\nkept.append(many_{i}); many_{i}()")
`

// TestManyFunctions: the allocations of every function in a long cell are known, though nothing else wakes up the
// tracer while it runs.
func TestManyFunctions(t *testing.T) {
	together(t)
	const functions = 3000
	pid, run := startCellIn(t, "", "", fmt.Sprintf(manyFunctions, functions))
	tr := attach(t, pid, "--budget", "off", "--ring", "65536")
	if err := run(); err != nil {
		t.Fatal(err)
	}
	r, _ := tr.wait(0)
	for _, lost := range r.Certificate.Lost {
		if lost.Reason == event.LostCode || lost.Reason == event.LostStack {
			t.Errorf("lost: %+v", lost)
		}
	}
}

// compareStack returns the difference between two stacks. The report leaves out frames outside of the cell.
func compareStack(got []model.Frame, want []calledFrom) string {
	if len(got) == 0 || len(got) > len(want) {
		return fmt.Sprintf("%d frames", len(got))
	}
	for i, f := range got {
		if f.Function != want[i].Function || f.File != want[i].File || f.Line != want[i].Line {
			return fmt.Sprintf("frame %d is %s in %s:%d", i, f.Function, f.File, f.Line)
		}
	}
	last := want[len(got)-1]
	if inCell := got[len(got)-1].Execution > 0; !inCell && len(got) != len(want) {
		return fmt.Sprintf("it ends at %+v", last)
	}
	return ""
}

// checkSums checks that the lines of every window add up to the window's consumption.
func checkSums(t *testing.T, r *model.Report) {
	t.Helper()
	for _, w := range r.Windows {
		for meter, c := range w.Coverage {
			net, peak := c.UnlistedNet, c.UnlistedAtPeak
			for _, a := range w.Allocations {
				if a.Meter == meter {
					net += a.Net
					peak += a.AtPeak
				}
			}
			f := w.Meters[meter]
			if c.Exact && (net != f.Consumed || peak+c.Rest != f.Peak) {
				t.Errorf("%s %q: %s: lines make %+d and %d at the peak, the window %+v, rest %d", w.Kind, w.Source,
					meter, net, peak, f, c.Rest)
			}
			// memory of cpu.mapped from before the attach may be freed, and cpu.resident has samples alone
			if !c.Exact && meter != "cpu.mapped" && meter != "cpu.resident" {
				t.Errorf("%s %q: %s: coverage is not exact: %+v", w.Kind, w.Source, meter, c)
			}
		}
	}
}

// hostileStacks makes frames that form circles or point nowhere, and absurd code objects, and allocates in them.
// Offsets are those of CPython 3.11: PyFrameObject.f_frame, _PyInterpreterFrame.previous.
const hostileStacks = `
import ctypes, sys
import numpy as np
word = ctypes.c_uint64
kept = []

def spoiled(previous, size):
    frame = word.from_address(id(sys._getframe()) + 24).value
    link = word.from_address(frame + 48)
    before = link.value
    link.value = previous or frame
    kept.append(np.empty(size, np.uint8))
    link.value = before

if sys.version_info[:2] == (3, 11):
    for i, previous in enumerate([0, 0x10, 0xffff_8000_0000_0000, 0xdead_beef_0000, (1 << 64) - 8]):
        spoiled(previous, 500_000 + i)

def normal(size=0):
    kept.append(np.empty(size, np.uint8))

import types
code = normal.__code__
table = "co_linetable" if sys.version_info >= (3, 10) else "co_lnotab"
for i, change in enumerate([
    {table: b"\x80" * 3_000_000}, {table: b""}, {table: b"\xff" * 100_000},
    {table: bytes(range(256)) * 40}, {"co_firstlineno": 2**31 - 1},
    {"co_filename": "日" * 1_000_000}, {"co_filename": "\x1b[31m\n\0"}, {"co_name": "\ud800" * 1000}, {"co_name": ""},
]):
    types.FunctionType(code.replace(**change), globals())(600_000 + i)

def deep(n):
    return deep(n - 1) if n else kept.append(np.empty(700_000, np.uint8))
sys.setrecursionlimit(20_000)
deep(9_000)
`

// TestHostileStacks: a process corrupts its frames. The tracer ends, reports as much as it can, and the figures are
// right.
func TestHostileStacks(t *testing.T) {
	together(t)
	r, cell := hostileCell(t, hostileStacks, "--budget", "off")
	sizes := map[int64]model.Allocation{}
	for _, a := range cell.Allocations {
		sizes[a.Allocated] = a
		if len(a.Stack) > 64 {
			t.Errorf("%d frames", len(a.Stack))
		}
	}
	var absurd int64 // those without a line of their own are one
	for size := range sizes {
		if size >= 600_000 && size%600_000 < 100 {
			absurd += size
		}
	}
	if want := int64(9*600_000 + 36); absurd != want {
		t.Errorf("%d bytes allocated in absurd code, want %d", absurd, want)
	}
	if a, ok := sizes[700_000]; !ok || !a.StackTruncated {
		t.Errorf("9,000 calls deep: %v, truncated %v", ok, a.StackTruncated)
	}
	checkCertificate(t, r)
	checkSums(t, r)
}

// ended reports whether a process has ended, and is a zombie.
func ended(pid int) bool {
	st, err := process.FS{}.Proc(pid).Stat()
	return err != nil || st.State == 'Z'
}
