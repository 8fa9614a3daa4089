package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ipytracer/model"
)

// aloneCells runs cells as ipykernel does, with half a second between them, in which the tracer writes to memory.peak.
const aloneCells = `
import signal, time
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
run = shell.run_cell
def request(*args, **more):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    result = run(*args, **more)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    time.sleep(0.5)
    return result
shell.run_cell = request
del shell
`

// peakOf opens a memory.peak that can be reset. The test is skipped where there is none.
func peakOf(t *testing.T, group string) *os.File {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(group, "memory.peak"), os.O_RDWR, 0)
	if err != nil {
		t.Skip("memory.peak cannot be written to: ", err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// shows returns what a descriptor of memory.peak shows.
func shows(t *testing.T, f *os.File) int64 {
	t.Helper()
	text := make([]byte, 32)
	n, err := f.ReadAt(text, 0)
	if n == 0 {
		t.Fatal(err)
	}
	bytes, err := strconv.ParseInt(strings.TrimSpace(string(text[:n])), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// takes is a cell that takes memory and gives it back.
func takes(mebibytes int) string {
	return fmt.Sprintf("x = b'x' * (%d << 20)\ntime.sleep(0.1)\nx = None", mebibytes)
}

// TestContainerPeaks: each cell has its own highest use of the container, also below an earlier one, where Linux lets
// it begin again (6.12). Whoever only reads memory.peak sees the same as without a tracer.
func TestContainerPeaks(t *testing.T) {
	together(t)
	group := memoryCgroup(t, 1<<30)
	reader := peakOf(t, group)
	sizes := []int{300, 100, 200, 50}
	cells := []string{"import time"}
	for _, size := range sizes {
		cells = append(cells, takes(size))
	}
	r, pid := runInGroup(t, group, cells)
	all := topCells(r, pid)
	if len(all) != len(cells) {
		t.Fatalf("%d cells", len(all))
	}
	for i, size := range sizes {
		c := all[i+1].Container
		t.Logf("%d MiB: %+v", size, c)
		rose := c.Highest - c.Start
		if least := int64(size) << 20; !c.Exact || rose < least-c.Bound || rose > least+16<<20 {
			t.Errorf("a cell that takes %d MiB: %+v", size, c)
		}
	}
	first := all[1].Container
	if at := shows(t, reader); at != first.Highest {
		t.Errorf("a reader of memory.peak sees %d, not %d", at, first.Highest)
	}
	for _, w := range r.Windows {
		if c := w.Container; w.Kind == model.Session && (c == nil || c.Highest != first.Highest) {
			t.Errorf("the session: %+v", c)
		}
	}
}

// TestContainerPeaksBeside: a tracer does not write to memory.peak while somebody else has a descriptor that was
// written to, so that one keeps its figure. The cells then have bounds.
func TestContainerPeaksBeside(t *testing.T) {
	together(t)
	group := memoryCgroup(t, 1<<30)
	other := peakOf(t, group)
	if _, err := other.WriteString("reset\n"); err != nil {
		t.Skip(err)
	}
	r, pid := runInGroup(t, group, []string{"import time", takes(300), takes(100), takes(50)})
	all := topCells(r, pid)
	if len(all) != 4 {
		t.Fatalf("%d cells", len(all))
	}
	first, second, third := all[1].Container, all[2].Container, all[3].Container
	t.Logf("%+v, %+v, %+v; the other one sees %d", first, second, third, shows(t, other))
	if !first.Exact || second.Exact || third.Exact || second.Highest != first.Highest ||
		second.AtLeast < second.Start+99<<20 {
		t.Errorf("%+v, %+v, %+v", first, second, third)
	}
	if at := shows(t, other); at != first.Highest {
		t.Errorf("the other one sees %d, not %d", at, first.Highest)
	}
}

// TestContainerPeaksWritten: somebody writes to memory.peak within a cell, and closes it. The cell has no exact figure,
// though the container became higher than at the cell's beginning.
func TestContainerPeaksWritten(t *testing.T) {
	together(t)
	group := memoryCgroup(t, 1<<30)
	peakOf(t, group)
	cell := fmt.Sprintf("x = b'x' * (200 << 20)\nx = None\nwith open(%q, 'w') as f: f.write('reset')\n%s",
		filepath.Join(group, "memory.peak"), takes(100))
	r, pid := runInGroup(t, group, []string{"import time", takes(300), cell, takes(50)})
	all := topCells(r, pid)
	if len(all) != 4 {
		t.Fatalf("%d cells", len(all))
	}
	written, behind := all[2].Container, all[3].Container
	t.Logf("%+v, %+v", written, behind)
	if written.Exact || written.AtLeast < written.Start+99<<20 || written.Highest < written.Start+199<<20 {
		t.Errorf("the cell: %+v", written)
	}
	if !behind.Exact || behind.Highest > behind.Start+60<<20 {
		t.Errorf("the next cell: %+v", behind)
	}
}

// runInGroup runs cells in a group under a tracer, one after another.
func runInGroup(t *testing.T, group string, cells []string) (r *model.Report, pid int) {
	t.Helper()
	s := startCells(t, nil, aloneCells, cells...)
	pid = s.cmd.Process.Pid
	joins(t, group, pid)
	tr := attach(t, pid)
	if _, err := s.in.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	s.says("done!\n")
	r, _ = tr.stop()
	return r, pid
}
