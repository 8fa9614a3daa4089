package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ipytracer/event"
	"ipytracer/model"
)

// copyTruth is what a way of testdata/workloads/copies.py says of itself.
type copyTruth struct {
	total  int64         // anonymous memory of all processes
	copied map[int]int64 // by pid
}

// copies runs the workload under the tracer. It returns what the program says, by experiment, and the report.
func copies(t *testing.T) (known map[string]copyTruth, r *model.Report) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.json")
	cmd := exec.Command(binary, "run", "--copies", "--quiet", "--format", "json", "-o", out, "--", python(),
		"../testdata/workloads/copies.py")
	cmd.Stderr = os.Stderr
	printed, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	known = map[string]copyTruth{}
	for line := range strings.Lines(string(printed)) {
		words := strings.Fields(line)
		truth := copyTruth{copied: map[int]int64{}}
		truth.total, err = strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		for _, word := range words[2:] {
			var pid int
			var n int64
			if _, err := fmt.Sscanf(word, "%d=%d", &pid, &n); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			truth.copied[pid] = n
		}
		known[words[0]] = truth
	}
	return known, readReport(t, out)
}

// TestCopies: of pages that processes share since a fork, each process has copied what Linux says of it: whether a
// child or the parent writes, by instructions or in a system call, to small pages or huge ones; whoever gives pages
// back, ends, or executes a program. Most of what is left is what Python does in between. What the tree has is at most
// what Linux says, and lower by no more than the bound; with workers that only write, hardly lower.
func TestCopies(t *testing.T) {
	together(t)
	const near = 512 << 10
	const nearParent, nearTree = 2 << 20, 4 << 20 // the parent copies while it starts its children, too
	known, r := copies(t)
	if len(known) != 16 {
		t.Fatalf("it says only %v", known)
	}
	// What the parent copies, or gives back, is not added; nor is what a child copies once it has forked.
	partly := []string{"parent_writes", "grandchild", "child_frees", "child_advises", "parent_frees", "last_keeps",
		"last_ends"}
	anon, copied := event.ResidentAnon.String(), event.Copied.String()
	for i := range r.Windows {
		w := &r.Windows[i]
		truth, is := known[w.Name]
		if w.Kind != model.Experiment || !is {
			continue
		}
		delete(known, w.Name)
		tree, ok := w.Tree[anon]
		if !ok {
			tree = w.Meters[anon]
		}
		off := tree.End - truth.total
		t.Logf("%s: tree %+d of %d", w.Name, off, truth.total)
		atLeast, atMost := truth.total-near, truth.total+near
		if slices.Contains(partly, w.Name) {
			atLeast -= *tree.Bound
		} else {
			atLeast -= nearTree
		}
		if tree.End < atLeast || tree.End > atMost {
			t.Errorf("%s: all processes have %d, not %d: %+d, bound %+v", w.Name, tree.End, truth.total, off, tree)
		}
		for pid, want := range truth.copied {
			figure, bound := w.Meters[copied], int64(nearParent)
			for _, c := range w.Children {
				if c.PID == pid {
					if figure = c.Meters[copied]; w.Name != "pool" {
						bound = near // in the pool, pages are private, too, of which the others have made copies
					}
				}
			}
			n := figure.Peak - figure.Start
			t.Logf("%s: %d copied %+d of %d", w.Name, pid, n-want, want)
			if has := madeIn(r, pid, "copies.py"); w.Name != "pool" && want > 16<<20 && has < want*9/10 {
				t.Errorf("%s: process %d has copied %d, of which lines of the program made %d", w.Name, pid, want, has)
			}
			if off := n - want; max(off, -off) > bound {
				t.Errorf("%s: process %d has copied %d, not %d: %+d", w.Name, pid, n, want, off)
			}
		}
	}
	for name := range known {
		t.Errorf("no experiment %s", name)
	}
}

// madeIn returns the bytes that a process has copied of what lines of a file made.
func madeIn(r *model.Report, pid int, file string) (sum int64) {
	for _, row := range r.Copied {
		if row.PID == pid && slices.ContainsFunc(row.Stack, func(f model.Frame) bool {
			return filepath.Base(f.File) == file
		}) {
			sum += row.Bytes
		}
	}
	return sum
}

// TestForksWithoutEnd: a program that forks thousands of processes, which fork, copy and give pages back, costs the
// tracer no memory that grows with them, and its tree is right once it is alone again.
func TestForksWithoutEnd(t *testing.T) {
	together(t)
	var most [2]int64
	for i, count := range []int{200, 2000} {
		out := filepath.Join(t.TempDir(), "out.json")
		cmd := exec.Command(binary, "run", "--copies", "--quiet", "--format", "json", "-o", out, "--", python(),
			"../testdata/workloads/forks.py", strconv.Itoa(count))
		cmd.Stderr = os.Stderr
		printed, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, printed)
		}
		most[i] = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
		want, err := strconv.ParseInt(strings.TrimSpace(string(printed)), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		session := readReport(t, out).Windows[0]
		own, tree := session.Meters[event.ResidentAnon.String()], session.Tree[event.ResidentAnon.String()]
		t.Logf("%d forks: %d bytes of the tracer; copied %d; own %+v, tree %+v", count, most[i],
			session.Meters[event.Copied.String()].Peak, own, tree)
		if copied := session.Meters[event.Copied.String()].Peak; copied < int64(count)*32*4096 {
			t.Errorf("%d forks: the parent has copied %d", count, copied)
		}
		if off := own.Peak - want; off < 0 {
			t.Errorf("%d forks: %d at most, and %d by Linux", count, own.Peak, want)
		}
	}
	if most[1] > most[0]+64<<20 {
		t.Errorf("the tracer has %d with 2,000 forks, and %d with 200", most[1], most[0])
	}
}

// readInWorkers has two workers that read all that DATA is, once each.
const readInWorkers = `import multiprocessing
import numpy as np
data = DATA
def read(number):
    return sum(1 for each in data if each is None) if isinstance(data, list) else float(data.sum())
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(read, range(8), chunksize=1))
`

// TestCopiedByWorkers: workers that only read a list copy it, which the report says, with advice. Who follows the
// advice, and puts the same numbers into an array, has no copies of it.
func TestCopiedByWorkers(t *testing.T) {
	together(t)
	const advice = "data in a NumPy or Arrow array is read without a copy"
	for _, c := range []struct {
		data    string
		advised bool
	}{
		{"[float(i) for i in range(2_000_000)]", true},
		{"np.array([float(i) for i in range(2_000_000)])", false},
	} {
		folder := t.TempDir()
		recording, out := filepath.Join(folder, "run.arrows"), filepath.Join(folder, "out.json")
		if said, err := exec.Command(binary, "run", "--copies", "--quiet", "--record", recording, "--", python(), "-c",
			strings.ReplaceAll(readInWorkers, "DATA", c.data)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		said, err := exec.Command(binary, "report", recording).Output()
		if err != nil {
			t.Fatal(err)
		}
		if err := exec.Command(binary, "report", recording, "-q", "--format", "json", "-o", out).Run(); err != nil {
			t.Fatal(err)
		}
		var most int64
		for _, p := range readReport(t, out).Processes {
			if p.Parent != 0 {
				most = max(most, p.Meters[event.Copied.String()].Peak)
			}
		}
		text := strings.Join(strings.Fields(string(said)), " ")
		if made := "was made by <string> line 3"; strings.Contains(text, made) != c.advised {
			t.Errorf("with %s, not %q: %s", c.data, made, said)
		}
		if strings.Contains(text, advice) != c.advised {
			t.Errorf("with %s, a worker copied %d bytes: %s", c.data, most, said)
		}
		if isMuch := most > 16<<20; isMuch != c.advised {
			t.Errorf("with %s, a worker copied %d bytes", c.data, most)
		}
		t.Logf("%s: %d bytes", c.data, most)
	}
}
