package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ipytracer/model"
)

// showsAt runs a request, and checks that its output, or that of the next cells, contains the wanted texts.
func (n *notebook) showsAt(what any, want ...string) (got string) {
	n.t.Helper()
	got = strings.Join(n.asks(what).Outputs, "")
	missing := func() bool {
		return slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(got, w) })
	}
	for next := 0; next < 20 && missing(); next++ {
		got += n.run("pass")
	}
	if missing() {
		n.t.Errorf("%v shows %q, want %q", what, got, want)
	}
	return got
}

// patiently makes the companion wait for figures for any time: each then is below its own cell, also on a busy machine.
const patiently = "import ipytracer, ipytracer._line, ipytracer._shell; ipytracer._shell.AFTER_CELL = 60.0"

// loads loads the extension, and returns once a tracer listens.
func (n *notebook) loads() {
	n.t.Helper()
	n.run("%load_ext ipytracer\n" + patiently)
	n.runsUntil("pass", "need ")
}

// tracedNotebook returns a notebook that has loaded the extension, its tracer, and the file that the notebook writes
// its figures to.
func tracedNotebook(t *testing.T) (n *notebook, tr *trace, told string) {
	t.Helper()
	env, told := companionAt(t, "/")
	n = startNotebook(t, env)
	tr = attach(t, n.pid)
	n.loads()
	return n, tr, told
}

// told makes the notebook write its figures of cells to the file, and compares them with the report.
func (n *notebook) told(tr *trace, path string) *model.Report {
	n.t.Helper()
	n.run(tell)
	r, _ := tr.stop()
	n.isTold(r, path)
	return r
}

func (n *notebook) isTold(r *model.Report, path string) {
	n.t.Helper()
	cells := 0
	for _, w := range r.Windows {
		if w.Kind == "cell" && w.PID == n.pid && !strings.Contains(w.Source, "told()") {
			cells++
		}
	}
	sameFigures(n.t, path, r, cells)
}

const longCell = "import time\nx = bytearray(64 << 20)\nprint('begun', flush=True)\ntime.sleep(600)\n" +
	"y = bytearray(512 << 20)"

// TestCompanionInterrupted: a cell that SIGINT ends has the figures up to there, and later cells have theirs.
func TestCompanionInterrupted(t *testing.T) {
	together(t)
	n, tr, told := tracedNotebook(t)
	n.showsAt(request{"code": longCell, "interrupt_at": "begun"}, "need ", "interrupted")
	n.showsAt("z = bytearray(32 << 20); del z", "need 32.")
	r := n.told(tr, told)
	i := slices.IndexFunc(r.Windows,
		func(w model.Window) bool { return w.Kind == "cell" && strings.Contains(w.Source, "sleep(600)") })
	if i < 0 || r.Windows[i].Status != model.Interrupted {
		t.Fatalf("the interrupted cell, window %d of %d", i, len(r.Windows))
	}
	// The memory of the cell's traceback counts for the cell.
	if f := r.Windows[i].Meters["cpu.resident"]; f.Need() < 64<<20 || f.Need() > 128<<20 || !f.Exact {
		t.Errorf("the interrupted cell: %+v", f)
	}
}

// TestCompanionRestarted restarts a kernel. It has figures again as soon as the extension is loaded, where the process
// that started it is traced. Otherwise it prints the command to type, with its own pid.
func TestCompanionRestarted(t *testing.T) {
	together(t)
	env, told := companionAt(t, "/")
	n := startNotebook(t, env)
	first := attach(t, n.pid)
	n.loads()
	n.showsAt("x = bytearray(64 << 20)", "need 64.")
	before := n.pid
	n.pid = n.asks(request{"restart": true}).PID
	if n.pid == before {
		t.Fatal("it is the same kernel")
	}
	first.wait(0) // it ends with its kernel
	n.shows("%load_ext ipytracer", fmt.Sprintf("sudo tracer attach %d", n.pid))
	second := attach(t, n.server)
	n.run(patiently)
	n.runsUntil("pass", "need ")
	n.showsAt("x = bytearray(48 << 20)", "need 48.")
	n.pid = n.asks(request{"restart": true}).PID
	n.loads()
	n.showsAt("x = bytearray(80 << 20)", "need 80.")
	n.told(second, told)
}

// TestCompanionTwoKernels runs two notebooks under one tracer, and under two. Each has the figures of its own cells. A
// second tracer of one kernel takes over when the first has ended.
func TestCompanionTwoKernels(t *testing.T) {
	together(t)
	envs, paths, notebooks := [2][]string{}, [2]string{}, [2]*notebook{}
	for i := range notebooks {
		envs[i], paths[i] = companionAt(t, "/")
		notebooks[i] = startNotebook(t, envs[i])
		notebooks[i].run("%load_ext ipytracer\n" + patiently)
	}
	both := func(what ...string) {
		t.Helper()
		for i, n := range notebooks {
			n.runsUntil("pass", "need ")
			if got := n.showsAt(fmt.Sprintf("x = bytearray(%d << 20); del x", 48+32*i),
				fmt.Sprintf("need %d.", 48+32*i)); strings.Contains(got, fmt.Sprintf("need %d.", 80-32*i)) {
				t.Errorf("%s: notebook %d is told of the other: %q", what, i, got)
			}
		}
	}
	one := attach(t, notebooks[0].pid, fmt.Sprint(notebooks[1].pid))
	both("one tracer")
	for _, n := range notebooks {
		n.run(tell)
	}
	r, _ := one.stop()
	for i, n := range notebooks {
		n.isTold(r, paths[i])
		n.showsAt("pass", "the tracer has ended")
	}
	first, second := attach(t, notebooks[0].pid), attach(t, notebooks[1].pid)
	both("two tracers")
	beside := attach(t, notebooks[0].pid)
	both("two tracers of one kernel")
	_ = first.cmd.Process.Signal(syscall.SIGKILL)
	<-first.ended
	notebooks[0].showsAt("pass", "the tracer has ended")
	both("the one that is left")
	for i, tr := range []*trace{beside, second} {
		n := notebooks[i]
		n.run("ids = [w.id for w in ipytracer.cells()]\n" + strings.TrimSpace(tell))
		r, _ := tr.stop()
		for _, w := range r.Windows {
			if w.PID != n.pid {
				t.Errorf("a window of process %d in the report of %d", w.PID, n.pid)
			}
		}
	}
}

// noteWaits makes the companion write down the limit of each wait; it waits as before.
const noteWaits = `
import ipytracer, ipytracer._line as line, json, os
waits, plain = [], line.Line._readable
def noted(self, seconds):
    waits.append(seconds)
    return plain(self, seconds)
line.Line._readable = noted`

// TestCompanionStoppedTracer stops the tracer. Cells run, and the companion waits for it twice, for less than 0.2 s a
// cell, and hardly after that. The waits of its own questions do not add up either. When the tracer continues, the
// figures come.
func TestCompanionStoppedTracer(t *testing.T) {
	together(t)
	n, tr, told := tracedNotebook(t)
	n.run(noteWaits)
	n.showsAt("x = bytearray(64 << 20)", "need 64.")
	n.run("ipytracer._shell.AFTER_CELL = 0.15; del waits[:]") // as users have it
	tr.pause()
	n.run("del waits[:]")
	for range 4 {
		n.run("y = 1")
	}
	n.run("ipytracer.last(), ipytracer.cells(), ipytracer.lines();")
	n.run("with ipytracer.experiment('e'): pass")
	n.run("%tracer table")
	n.run("with open(os.environ['TOLD'], 'w') as f: json.dump(waits, f)")
	text, err := os.ReadFile(told)
	if err != nil {
		t.Fatal(err)
	}
	var waits []float64
	if err := json.Unmarshal(text, &waits); err != nil {
		t.Fatal(err)
	}
	var sum float64
	for i, w := range waits {
		sum += w
		if w > 0.2 || i >= 2 && w > 0.005 {
			t.Errorf("wait %d is for %.3f s: %v", i, w, waits)
		}
	}
	if sum > 0.5 || len(waits) < 6 {
		t.Errorf("it waits %d times, for %.3f s: %v", len(waits), sum, waits)
	}
	_ = tr.cmd.Process.Signal(syscall.SIGCONT)
	n.run("del x")
	n.runsUntil("x = bytearray(96 << 20); del x", "need 96.")
	n.run("%reload_ext ipytracer\n" + patiently)
	n.runsUntil("pass", "need ")
	if got := n.showsAt("x = bytearray(80 << 20); del x", "need 80."); strings.Count(got, "need 80.") != 1 {
		t.Errorf("reloaded, it shows %q", got)
	}
	n.told(tr, told)
	n.showsAt("pass", "the tracer has ended")
}

// forks are cells with children that have the line's socket. One does not use it, one is in a pool, and one that Python
// does not know writes on it. Python would wait for ever in such a child if another thread of the parent had requested
// the GIL by then, or waited for it while the child gives it up. So the threads get it once and do not ask again, and
// the child keeps it.
var forks = []string{`
import multiprocessing, os, ctypes
def asks(n):
    x = bytearray(8 << 20)
    return ipytracer.last(), ipytracer.cells(), ipytracer.attached()
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(set(map(str, pool.map(asks, range(4)))))`, `
child = os.fork()
if not child:
    try:
        ipytracer.last(); ipytracer.lines()
    finally:
        os._exit(0)
print(os.waitpid(child, 0)[1])`, `
import select, sys, threading
ours, interval = ipytracer._line.LINE._ours.fileno(), sys.getswitchinterval()
sys.setswitchinterval(3600)
once = threading.Thread(target=int)
once.start(); once.join()
libc = ctypes.PyDLL(None)
child = libc.fork()
if not child:
    for _ in range(20):
        if libc.write(ours, b"x" * 3000, 3000) < 0: break
    compile("", "<ipytracer:ask>", "exec")
    os._exit(0)
sys.setswitchinterval(interval)
select.select([os.pidfd_open(child)], [], [], 60)[0] or os.kill(child, 9)
print("its status:", os.waitpid(child, 0)[1])`}

// TestCompanionForks: children that inherit the line do not ask on it. If one writes on it all the same, at most the
// line is lost, and it is made anew.
func TestCompanionForks(t *testing.T) {
	together(t)
	n, tr, told := tracedNotebook(t)
	n.showsAt(forks[0], "{'(None, [], False)'}", "need")
	n.showsAt(forks[1], "0\n", "need")
	n.showsAt(forks[2], "its status: 0\n")
	n.runsUntil("pass", "need ")
	n.showsAt("x = bytearray(64 << 20); del x", "need 64.")
	n.showsAt("x = bytearray(32 << 20); del x", "need 32.")
	if got := n.run("print(os.listdir('/proc/self/fd').__len__())"); strings.Contains(got, "the tracer has ended") {
		t.Errorf("it ends again and again: %q", got)
	}
	n.told(tr, told)
}

// TestCompanionInChroots: notebooks in chroots, with other Pythons, IPythons and ipykernels, have figures under cells,
// also live ones, and the magics.
func TestCompanionInChroots(t *testing.T) {
	together(t)
	for _, c := range [][2]string{{"bullseye", "/usr/bin/python3.9"}, {"trixie", "/usr/bin/python3.13"},
		{"sid", "/usr/bin/python3.14"}} {
		t.Run(filepath.Base(c[1]), func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(pythonsDir(), c[0])
			needTree(t, root)
			enter(t, root)
			env, told := companionAt(t, root)
			n := startNotebook(t, env, "--chroot", root, "--python", c[1])
			tr := attach(t, n.pid)
			n.loads()
			n.showsAt("x = bytearray(64 << 20)", "need 64.")
			n.showsAt(request{"code": "x = None; x = bytearray(96 << 20)\nUNTIL_SHOWN", "until": "runs "}, "runs ",
				"need ")
			n.showsAt(request{"code": longCell, "interrupt_at": "begun"}, "interrupted")
			n.showsAt("%tracer table", "need")
			n.told(tr, told)
		})
	}
}
