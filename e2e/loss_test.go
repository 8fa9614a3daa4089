package e2e

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ipytracer/model"
)

// cellRunner is a process with an IPython that runs cells one after another on request.
type cellRunner struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.Writer
	out io.Reader
}

const runCells = `
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(history_load_length=0)
shell.cache_size = 0
exec(sys.argv[1], shell.user_ns)
print("ready", flush=True)
sys.stdin.readline()
for cell in sys.argv[2:]:
    shell.run_cell(cell, store_history=True)
print("done!", flush=True)
sys.stdin.readline()
`

// startCells starts a Python that runs cells. The code before runs at once, in the cells' namespace.
func startCells(t *testing.T, env []string, before string, cells ...string) *cellRunner {
	t.Helper()
	return startCellsOn(t, place{}, env, before, cells...)
}

// startCellsOn is startCells on another Python.
func startCellsOn(t *testing.T, p place, env []string, before string, cells ...string) *cellRunner {
	t.Helper()
	command := []string{python(), "-c", runCells, before}
	if p.chroot != "" {
		command = []string{"chroot", p.chroot, p.python, "-c", runCells, before}
	}
	command = append(command, cells...)
	s := &cellRunner{t: t, cmd: exec.Command(command[0], command[1:]...)}
	s.cmd.Env, s.cmd.Dir, s.cmd.Stderr = append(os.Environ(), env...), t.TempDir(), os.Stderr
	s.in, s.out = startPiped(t, s.cmd)
	s.says("ready\n")
	return s
}

func (s *cellRunner) says(word string) {
	s.t.Helper()
	got := make([]byte, len(word))
	for !bytes.HasSuffix(got, []byte(word)) { // cells may print
		got = append(got[1:], 0)
		if _, err := io.ReadFull(s.out, got[len(got)-1:]); err != nil {
			s.t.Fatalf("the shell has not said %q: %v", word, err)
		}
	}
}

// run lets the cells run under a strict tracer, and returns its report.
func (s *cellRunner) run(status int, flags ...string) *model.Report {
	s.t.Helper()
	tr := attach(s.t, s.cmd.Process.Pid, append(flags, "--strict")...)
	if _, err := io.WriteString(s.in, "go\n"); err != nil {
		s.t.Fatal(err)
	}
	s.says("done!\n")
	_ = tr.cmd.Process.Signal(os.Interrupt)
	r, _ := tr.wait(status)
	return r
}

// unseen lets the cells run while the tracer is stopped, as on an overloaded machine, and returns its report.
func (s *cellRunner) unseen(status int, flags ...string) *model.Report {
	s.t.Helper()
	tr := attach(s.t, s.cmd.Process.Pid, flags...)
	tr.pause()
	if _, err := io.WriteString(s.in, "go\n"); err != nil {
		s.t.Fatal(err)
	}
	s.says("done!\n")
	_ = tr.cmd.Process.Signal(syscall.SIGCONT)
	_ = tr.cmd.Process.Signal(os.Interrupt)
	r, _ := tr.wait(status)
	return r
}

// lost returns the number of lost items of a kind, by the certificate, which must then not be complete and must have
// the reason.
func lost(t *testing.T, r *model.Report, reason string) uint64 {
	t.Helper()
	c := r.Certificate
	for _, l := range c.Lost {
		if strings.Contains(l.Reason, reason) && l.Count > 0 {
			if c.Complete || !strings.Contains(strings.Join(c.Incomplete, "\n"), l.Reason) {
				t.Errorf("%d lost (%s), complete: %v, %q", l.Count, l.Reason, c.Complete, c.Incomplete)
			}
			return l.Count
		}
	}
	return 0
}

const markersWithoutEnd = `
import threading
flooding = True
def flood():
    n = 0
    while flooding:
        for _ in range(100):
            compile('', '<ipytracer:begin flood %d>' % n, 'exec')
            n += 1
thread = threading.Thread(target=flood)
`

// TestMarkersLeaveCellsRoom: a thread begins experiments without end, as fast as it can, and no reader empties the
// store. Every cell has its window and its source. Refused experiments are counted, in the cells too, and the
// experiments that were open then are not exact.
func TestMarkersLeaveCellsRoom(t *testing.T) {
	together(t)
	var cells []string
	for i := range 22 {
		cells = append(cells, fmt.Sprintf("x%d = bytearray(%d << 20)", i, i+1))
	}
	cells[0] = "thread.start()\n" + cells[0]
	cells[21] += "\nflooding = False\nthread.join()"
	s := startCells(t, nil, markersWithoutEnd, cells...)
	r := s.unseen(4, "--strict")
	got := topCells(r, s.cmd.Process.Pid)
	if len(got) != len(cells) {
		t.Fatalf("%d cells ran, %d windows", len(cells), len(got))
	}
	for i, w := range got {
		if f := w.Meters["cpu.mapped"]; w.Source != cells[i] || !f.Exact || f.Need() < int64(i+1)<<20 {
			t.Errorf("cell %d: source %q, mapped %+v", i+1, w.Source, f)
		}
	}
	refused := lost(t, r, "experiments refused")
	session := r.Windows[0]
	if refused == 0 || session.LostMarkers != int64(refused) {
		t.Errorf("%d refused, the session says %d; lost %v", refused, session.LostMarkers, r.Certificate.Lost)
	}
	var exact, bounds int
	for _, w := range r.Windows {
		if w.Kind == model.Experiment {
			if f := w.Meters["cpu.resident"]; f.Exact {
				exact++
			} else if f.Bound == nil && w.Note != "" {
				bounds++
			}
		}
	}
	if bounds == 0 {
		t.Errorf("of the experiments none is marked, %d are exact", exact)
	}
}

// TestMarkersInPairs: 50,000 experiments in one cell. Those that have a window have both their ends, all others are
// counted.
func TestMarkersInPairs(t *testing.T) {
	together(t)
	const pairs = 50_000
	s := startCells(t, nil, "",
		fmt.Sprintf("for i in range(%d):\n    compile('', '<ipytracer:begin p>', 'exec')\n"+
			"    compile('', '<ipytracer:end p>', 'exec')", pairs))
	tr := attach(t, s.cmd.Process.Pid, "--strict")
	if _, err := io.WriteString(s.in, "go\n"); err != nil {
		t.Fatal(err)
	}
	s.says("done!\n")
	_ = tr.cmd.Process.Signal(os.Interrupt)
	<-tr.ended
	r, _ := tr.wait(exitStatus(t, tr.err))
	whole := 0
	for _, w := range r.Windows {
		if w.Kind == model.Experiment && w.Status == model.OK {
			whole++
		}
	}
	refused := lost(t, r, "experiments refused")
	if status := exitStatus(t, tr.err); (refused > 0) != (status == 4) {
		t.Errorf("%d refused, status %d", refused, status)
	}
	if missing := 2 * (pairs - whole); uint64(missing) < refused || refused == 0 && missing > 0 {
		t.Errorf("%d of %d experiments have a window, and %d begins and ends were refused", whole, pairs, refused)
	}
	if cells := topCells(r, s.cmd.Process.Pid); len(cells) != 1 || !cells[0].Meters["cpu.resident"].Exact ||
		cells[0].LostMarkers != int64(refused) {
		t.Errorf("the cell: %+v", cells)
	}
	if len(r.Certificate.Problems) > 0 {
		t.Errorf("what was refused makes problems: %q", r.Certificate.Problems)
	}
}

// TestManyForks: 700 forked children live at once, each with a megabyte of its own. All are in the report.
func TestManyForks(t *testing.T) {
	together(t)
	const children = 700
	s := startCells(t, nil, "", fmt.Sprintf(`import os
read, write = os.pipe()
up, here = os.pipe()
pids = []
for i in range(%d):
    pid = os.fork()
    if not pid:
        kept = bytearray(1 << 20)
        os.close(write)
        os.write(here, b'x')
        os.read(read, 1)
        os._exit(0)
    pids.append(pid)
    os.read(up, 1)
os.close(write)
for pid in pids: os.waitpid(pid, 0)`, children))
	r := s.run(4) // forked children make the tree a bound
	if !r.Certificate.Complete {
		t.Errorf("not complete: %q", r.Certificate.Incomplete)
	}
	if n := len(r.Processes) - 1; n != children {
		t.Errorf("%d children", n)
	}
	cell := topCells(r, s.cmd.Process.Pid)[0]
	if f, _ := cell.Together("cpu.resident"); f.Exact || f.Need() < children<<20 {
		t.Errorf("all together: %+v", f)
	}
	if len(cell.Children) != children {
		t.Errorf("the cell has %d children", len(cell.Children))
	}
}

// standIn returns the environment of a process that uses the stand-in of the CUDA driver, with a number of devices.
func standIn(t *testing.T, devices int, more ...string) []string {
	t.Helper()
	libraries := gpuLibraries.copied(t)
	modules, err := filepath.Abs("../testdata/gpu")
	if err != nil {
		t.Fatal(err)
	}
	return append(more, "PYTHONPATH="+modules, "PYTHONDONTWRITEBYTECODE=1", "LD_LIBRARY_PATH="+libraries,
		"STANDIN_LIBRARIES="+libraries,
		"STANDIN_TRUTH="+filepath.Join(t.TempDir(), "truth"), fmt.Sprintf("STANDIN_DEVICES=%d", devices),
		"STANDIN_MEMORY=8589934592")
}

// unseenContext makes a context before the attach, on the last device.
const unseenContext = "import gpu\ngpu.cu.call('cuInit', 0)\nother = gpu.cu.give('cuCtxCreate_v2', 0, %d)"

var inUnseenContext = []string{
	"gpu.cu.call('cuCtxSetCurrent', other)\nall = [gpu.cu.alloc(1 << 20) for _ in range(11)]",
	"one = gpu.cu.alloc(1 << 20); gpu.cu.free(one)", "pass",
}

// TestGuessedDevice: eleven allocations in a context with an unseen creation, with two devices. Their device is a
// guess, and from then on every figure that depends on it says so.
func TestGuessedDevice(t *testing.T) {
	together(t)
	s := startCells(t, standIn(t, 2), fmt.Sprintf(unseenContext, 1), inUnseenContext...)
	r := s.run(4)
	if n := lost(t, r, "whose device is a guess"); n != 12 {
		t.Errorf("%d guesses: %v", n, r.Certificate.Lost)
	}
	for i, w := range topCells(r, s.cmd.Process.Pid) {
		for meter, f := range w.Meters {
			if !strings.HasPrefix(meter, "gpu.") {
				if !f.Exact && meter != "cpu.numpy" {
					t.Errorf("cell %d: %s has nothing to do with it: %+v", i+1, meter, f)
				}
				continue
			}
			if want := int64(11+min(i, 1)) << 20; strings.HasSuffix(meter, ".driver") &&
				(f.Exact || f.Bound == nil || *f.Bound != want) {
				t.Errorf("cell %d: %s rests on a guess of %d bytes: %+v", i+1, meter, want, f)
			}
		}
		if _, ok := w.Meters["gpu.0.driver"]; !ok {
			t.Errorf("cell %d has no driver: %v", i+1, w.Meters)
		}
	}
}

// TestOneDeviceIsNoGuess: where a process can use one device only there is nothing to guess.
func TestOneDeviceIsNoGuess(t *testing.T) {
	together(t)
	s := startCells(t, standIn(t, 1, "CUDA_VISIBLE_DEVICES=0"), fmt.Sprintf(unseenContext, 0), inUnseenContext...)
	r := s.run(0)
	for i, w := range topCells(r, s.cmd.Process.Pid) {
		if f := w.Meters["gpu.0.driver"]; !f.Exact || f.End != 11<<20 {
			t.Errorf("cell %d: %+v", i+1, f)
		}
	}
}
