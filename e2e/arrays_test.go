package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ipytracer/report"
)

// arraySteps are statements and by how many bytes each changes what NumPy's blocks of at least 1,024 bytes have: arithmetic, from
// what NumPy's documentation says of each.
var arraySteps = []struct {
	statement string
	small     int64 // of the difference, what blocks of less than 1,024 bytes have
	delta     int64
}{
	{"a = np.empty(100_000)", 0, 800_000},
	{"b = np.zeros((1000, 100))", 0, 800_000},
	{"c = np.ones(50_000, np.float32)", 0, 200_000},
	{"d = np.zeros(10)", 80, 80},
	{"e = np.arange(128)", 0, 1024},
	{"f = np.arange(127)", 1016, 1016},
	{"z = np.zeros(1023, np.uint8); y = np.zeros(1024, np.uint8)", 1023, 2047},
	{"del d, e, f, z, y", -80 - 1016 - 1023, -80 - 1024 - 1016 - 1023 - 1024},
	{"a.resize(200_000, refcheck=False)", 0, 800_000},
	{"a.resize(50_000_000, refcheck=False)", 0, 398_400_000},
	{"a.resize(100, refcheck=False)", 800, 800 - 400_000_000},
	{"a.resize(90, refcheck=False)", -80, -80},
	{"a.resize(1000, refcheck=False)", -720, 8000 - 720},
	{"a.resize(1001, refcheck=False)", 0, 8},
	{"refused(lambda: a.resize(1 << 50, refcheck=False))", 0, 0},
	{"refused(lambda: np.empty(1 << 57, np.uint8))", 0, 0},
	{"refused(lambda: np.zeros(1 << 57, np.uint8))", 0, 0},
	{"g = np.fromiter(range(100_000), np.int64)", 0, 800_000},
	{"h = np.append(b, 1.0)", 0, 800_008},
	{"i = np.sort(c)", 0, 200_000},
	{"c.sort(kind='stable')", 0, 0},
	{"j = [np.empty(1000 + n, np.uint8) for n in range(0, 100)]", 1000 + 1023*12 - 276 + 11000, 0},
	{"del j", 0, 0},
	{"for n in range(3000): k = np.ones(10) + np.zeros(3)[0]", 80, 80},
	{"for n in range(3000): l = np.zeros(2000) * 2", 0, 16_000},
	{"work(np.empty); work(np.zeros)", 0, 0},
	{"del a, b, c, g, h, i, k, l", -80, -8008 - 800_000 - 200_000 - 800_000 - 800_008 - 200_000 - 80 - 16_000},
}

func init() { // the list of blocks around the limit
	var small, all int64
	for n := int64(1000); n < 1100; n++ {
		all += n
		if n < 1024 {
			small += n
		}
	}
	for i := range arraySteps {
		switch {
		case strings.HasPrefix(arraySteps[i].statement, "j = "):
			arraySteps[i].small, arraySteps[i].delta = small, all
		case arraySteps[i].statement == "del j":
			arraySteps[i].small, arraySteps[i].delta = -small, -all
		}
	}
}

const arraysPrelude = `import threading, time
import numpy as np
def refused(take):
    try:
        take()
        raise SystemExit('not refused')
    except (MemoryError, ValueError):
        pass
def work(make):
    def some():
        for n in range(500):
            x = make(1000 + n); y = make(20); x.resize(2000 + n, refcheck=False)
    threads = [threading.Thread(target=some) for _ in range(4)]
    for t in threads: t.start()
    for t in threads: t.join()
time.sleep(%v)
`

// TestArrays: cpu.numpy of every way of making arrays that is, to the byte, while the probes in NumPy take over and once they have;
// and of a NumPy without a memory handler, by the probes on PyTraceMalloc_Track.
func TestArrays(t *testing.T) {
	require(t)
	for _, c := range []struct {
		tree, python string
		inside       bool
	}{{"", "", true}, {"bullseye", "/usr/bin/python3.9", false}, {"trixie", "/usr/bin/python3.13", true}, {"sid", "/usr/bin/python3.14", true}, {"sid", "/usr/bin/python3.15", true}} {
		t.Run(filepath.Base(c.python), func(t *testing.T) {
			root := ""
			if c.tree != "" {
				root = filepath.Join(pythonsDir(), c.tree)
				needTree(t, root)
				enter(t, root)
			}
			for _, wait := range []float64{0, 2.5} {
				r := traceArrays(t, root, c.python, fmt.Sprintf(arraysPrelude, wait), c.inside, "--budget", "off")
				checkArrays(t, r, false)
				if sites := probesOf(r, "numpy"); strings.Contains(sites, "places in _multiarray_umath") != c.inside || strings.Contains(sites, "no memory handler") == c.inside {
					t.Errorf("probes on %s", sites)
				}
			}
		})
	}
}

// probesOf is where a group's probes are, as the certificate has it.
func probesOf(r *report.Report, group string) string {
	for _, p := range r.Certificate.Probes {
		if p.Name == group {
			return p.Site
		}
	}
	return ""
}

// traceArrays runs the steps. handler: NumPy has one; without, it tells tracemalloc that a block is gone which it could not resize.
func traceArrays(t *testing.T, root, interpreter, prelude string, handler bool, flags ...string) *report.Report {
	t.Helper()
	cell := prelude
	for _, s := range arraySteps {
		if !handler && strings.HasPrefix(s.statement, "refused(lambda: a.resize") {
			cell += "pass"
		} else {
			cell += s.statement
		}
		cell += "\n"
	}
	pid, run := startCellIn(t, root, interpreter, cell)
	tr := attach(t, pid, flags...)
	if err := run(); err != nil {
		t.Fatal(err)
	}
	until(t, "the target ends", func() bool { return syscall.Kill(pid, 0) != nil || ended(pid) })
	r, _ := tr.stop()
	if cells := topCells(r, pid); len(cells) != 1 || cells[0].Status != report.OK {
		t.Fatalf("%d cells: %+v", len(cells), cells)
	}
	checkCertificate(t, r)
	checkSums(t, r)
	return r
}

// checkArrays compares every statement's difference; small: all blocks count.
func checkArrays(t *testing.T, r *report.Report, small bool) {
	t.Helper()
	first := 1 + strings.Count(arraysPrelude, "\n")
	consumed, exact := map[int]int64{}, map[int]bool{}
	for _, w := range r.Windows {
		if w.Kind == "statement" {
			f := w.Meters["cpu.numpy"]
			consumed[w.Line] += f.Consumed
			exact[w.Line] = f.Exact
		}
	}
	for i, step := range arraySteps {
		want := step.delta
		if !small {
			want -= step.small
		}
		if got, ok := consumed[first+i]; !ok || got != want || !exact[first+i] {
			t.Errorf("%s: %+d bytes, exact %v; want %+d", step.statement, got, exact[first+i], want)
		}
	}
}

// TestSmallArrays: with --small-arrays every block counts.
func TestSmallArrays(t *testing.T) {
	require(t)
	r := traceArrays(t, "", "", fmt.Sprintf(arraysPrelude, 0), false, "--budget", "off", "--small-arrays")
	checkArrays(t, r, true)
	if sites := probesOf(r, "numpy"); strings.Contains(sites, "places in") {
		t.Errorf("probes on %s", sites)
	}
}
