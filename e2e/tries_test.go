package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ipytracer/internal/hostile"
	"ipytracer/model"
)

// tries returns how often a test of chance tries. docs/security-trials.md has what many found.
func tries() int { return hostile.Attempts(2 * atOnce) }

// atOnce is how many shells a tracer is attached to: each of them is a try.
const atOnce = 10

// crowd is shells that may count small arrays themselves. Each runs cells of chance whose arrays are known.
type crowd struct {
	t      *testing.T
	r      *rand.Rand
	in     io.WriteCloser
	out    *bufio.Scanner
	shells []*counting
	made   int // cells so far, in all shells
}

// counting is one shell of a crowd.
type counting struct {
	*crowd
	pid   int
	on    bool             // it has run %tracer counts on
	late  bool             // it will not, for now
	known map[string]moves // by the first line of the cell's source
	live  map[int]int64    // bytes of KEPT's members
}

// moves are a cell's bytes of arrays beyond those at its start.
type moves struct{ peak, end int64 }

// newCrowd starts a driver without shells. TRACER_SEED repeats what chance did.
func newCrowd(t *testing.T) *crowd {
	t.Helper()
	together(t)
	seed, err := strconv.ParseUint(os.Getenv("TRACER_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("TRACER_SEED=%d", seed)
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, "ipytracer"), os.DirFS("../python/src/ipytracer")); err != nil {
		t.Fatal(err)
	}
	buildCounts(t, filepath.Join(folder, "ipytracer/counts"))
	cmd := exec.Command(python(), filepath.Join(workloads, "run_shells.py"))
	cmd.Env = append(os.Environ(), "PYTHONPATH="+folder, "PYTHONDONTWRITEBYTECODE=1", "IPYTRACER_INSIDE=off",
		"IPYTHONDIR="+folder)
	cmd.Stderr = os.Stderr
	in, out := startPiped(t, cmd)
	c := &crowd{t: t, r: rand.New(rand.NewPCG(seed, 0)), in: in, out: bufio.NewScanner(out)}
	c.out.Buffer(nil, 1<<20)
	return c
}

// ask asks the driver, and reads its answer.
func (c *crowd) ask(request, answer any) {
	c.t.Helper()
	if err := json.NewEncoder(c.in).Encode(request); err != nil {
		c.t.Fatal(err)
	}
	if !c.out.Scan() {
		c.t.Fatal("the driver of the shells has ended")
	}
	if err := json.Unmarshal(c.out.Bytes(), answer); err != nil {
		c.t.Fatalf("%v: %s", err, c.out.Bytes())
	}
}

// begin replaces all shells by new ones.
func (c *crowd) begin(shells int) {
	c.t.Helper()
	var got struct{ PIDs []int }
	c.ask(map[string]int{"fork": shells}, &got)
	c.shells = nil
	for _, pid := range got.PIDs {
		c.shells = append(c.shells, &counting{crowd: c, pid: pid, late: c.r.IntN(2) == 0,
			known: map[string]moves{}, live: map[int]int64{}})
	}
	c.all(whoCounts)
	c.all("%load_ext ipytracer")
}

// whoCounts are functions of the cells: ours notes the members of KEPT that the process counts, which are those that
// were made in a cell where its allocator was set.
const whoCounts = `import numpy as np
from ipytracer._counts import COUNTS
KEPT, OURS = {}, set()
def ours(member):
    if COUNTS._loaded is not None and COUNTS._address(COUNTS._get()) == COUNTS._address(COUNTS._ours):
        OURS.add(member)
def counted():
    def size(member):
        kept = KEPT.get(member, [])
        return kept.nbytes if hasattr(kept, "nbytes") else sum(a.nbytes for a in kept)
    return sum(map(size, OURS))`

// result is what a shell says of its cell.
type cellResult struct {
	Status string
	Told   json.RawMessage
}

// each runs one cell in each shell at once. All shells live, and no cell fails.
func (c *crowd) each(cell func(*counting) string) []cellResult {
	c.t.Helper()
	var cells []string
	for _, s := range c.shells {
		cells = append(cells, cell(s))
	}
	var got struct{ Results []cellResult }
	c.ask(map[string]any{"cells": cells}, &got)
	for i, r := range got.Results {
		if r.Status != "ok" {
			c.t.Fatalf("pid %d: %q: %s: %s", c.shells[i].pid, cells[i], r.Status, r.Told)
		}
	}
	return got.Results
}

func (c *crowd) all(cell string) []cellResult {
	c.t.Helper()
	return c.each(func(*counting) string { return cell })
}

// step runs a cell of chance in each shell. In some that do not count yet it is the one that makes them count.
func (c *crowd) step() {
	c.t.Helper()
	c.each(func(s *counting) string {
		if !s.on && !s.late && c.r.IntN(3) == 0 {
			s.on = true
			return "%tracer counts on"
		}
		if s.on && c.r.IntN(20) == 0 {
			return "%tracer counts off\n%tracer counts on"
		}
		return s.cell()
	})
}

// hurry lets the shells that do not count yet begin to.
func (c *crowd) hurry() {
	for _, s := range c.shells {
		s.late = false
	}
}

// until returns a duration of chance.
func (c *crowd) until(most time.Duration) time.Duration {
	return time.Duration(c.r.Int64N(int64(most)))
}

// cell returns the source of a cell of chance.
func (s *counting) cell() string {
	s.made++
	n := 200 + s.r.IntN(7800) // items of 8 bytes, below 64 KiB
	bytes := int64(8 * n)
	first, source, m := fmt.Sprintf("# cell %d", s.made), "pass", moves{}
	switch s.r.IntN(7) {
	case 0, 1:
		count := 1 + s.r.IntN(50)
		source = fmt.Sprintf("KEPT[%d] = [np.empty(%d) for _ in range(%d)]; ours(%[1]d)", s.made, n, count)
		m.end = bytes * int64(count)
	case 2:
		source, m.peak = fmt.Sprintf("for _ in range(%d): np.empty(%d)", 1+s.r.IntN(300), n), bytes
	case 3:
		source, m.end = fmt.Sprintf("KEPT[%d] = np.empty(1 << 17); ours(%[1]d)", s.made), 1<<20
	case 4:
		source, m.peak = fmt.Sprintf("x = np.empty(1 << 17); y = np.empty(%d); x = y = None", n), 1<<20+bytes
	case 5:
		source, m.peak = "x = np.empty(1000); x.resize(50_000, refcheck=False); x.resize(2000, refcheck=False); "+
			"x = None", 400_000
	case 6:
		for number, bytes := range s.live {
			delete(s.live, number)
			source, m.end = fmt.Sprintf("del KEPT[%d]", number), -bytes
			break
		}
	}
	if m.end > 0 {
		s.live[s.made], m.peak = m.end, m.end
	}
	s.known[first] = m
	return first + "\n" + source
}

// verdict says how many figures of cells were exact, and how many by the word of the process.
type verdict struct{ cells, exact, counted int }

func (v *verdict) add(other verdict) {
	v.cells += other.cells
	v.exact += other.exact
	v.counted += other.counted
}

// judge compares the cells of a report with what is known of them: no figure is said to be exact that is not.
func (c *crowd) judge(r *model.Report) (v verdict) {
	c.t.Helper()
	for _, s := range c.shells {
		v.add(s.judge(r))
	}
	return v
}

func (s *counting) judge(r *model.Report) (v verdict) {
	s.t.Helper()
	for _, w := range topCells(r, s.pid) {
		first, _, _ := strings.Cut(w.Source, "\n")
		m, ok := s.known[first]
		if !ok || w.Status != model.OK {
			continue
		}
		v.cells++
		f := w.Meters["cpu.numpy"]
		if !f.Exact {
			continue
		}
		v.exact++
		if f.Accuracy == model.CountedInProcess {
			v.counted++
		}
		if f.Peak-f.Start != m.peak || f.End-f.Start != m.end {
			s.t.Errorf("pid %d: %s: %+v, want a peak of %d and %d at the end", s.pid, w.Source, f, m.peak, m.end)
		}
	}
	return v
}

// pids returns the arguments that name all shells but the first.
func (c *crowd) pids() (pids []string) {
	for _, s := range c.shells[1:] {
		pids = append(pids, strconv.Itoa(s.pid))
	}
	return pids
}

// budget returns a budget: none, or one for which meters are paused.
func (c *crowd) budget() string {
	if c.r.IntN(2) == 0 {
		return "off"
	}
	return "0.01%"
}

// attach attaches a tracer to all shells.
func (c *crowd) attach(flags ...string) *trace {
	c.t.Helper()
	return attach(c.t, c.shells[0].pid, append(append(flags, "--budget", c.budget()), c.pids()...)...)
}
