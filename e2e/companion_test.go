package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ipytracer/model"
)

// tell is a cell that writes down the companion's figures of the cells so far, and of one experiment.
const tell = `
import json, os
def told():
    cells = [w.to_dict() for w in ipytracer.cells()]
    with open(os.environ.get("TOLD", "/tmp/told.json"), "w") as f:
        json.dump(cells, f)
told()`

// companionAt puts the companion where a Python below root finds it, and returns the environment for that. There it
// measures nothing itself: TestCompanionAlone is about that.
func companionAt(t *testing.T, root string) (env []string, told string) {
	t.Helper()
	folder, err := os.MkdirTemp(filepath.Join(root, "tmp"), "ipytracer-companion-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.CopyFS(filepath.Join(folder, "ipytracer"), os.DirFS("../python/src/ipytracer")); err != nil {
		t.Fatal(err)
	}
	for file, patience := range map[string]string{"_line.py": "ASKED_FOR = 0.200", "_run.py": "_PATIENCE = 0.2",
		"_serve.py": "PATIENCE = 0.200"} {
		waitsLonger(t, filepath.Join(folder, "ipytracer", file), patience, "3.0")
	}
	waitsLonger(t, filepath.Join(folder, "ipytracer", "_auto.py"), "PATIENCE = 5.0", "120.0")
	inside := strings.TrimPrefix(folder, strings.TrimSuffix(root, "/"))
	return []string{"PYTHONPATH=" + inside, "PYTHONDONTWRITEBYTECODE=1", "TOLD=" + inside + "/told.json",
			"IPYTRACER_INSIDE=off"},
		filepath.Join(folder, "told.json")
}

// waitsLonger makes the user's own questions wait for longer than a fifth of a second for their answers: the load of
// the machine must not decide whether an answer comes.
func waitsLonger(t *testing.T, file, patience, seconds string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(patience, " ")
	if !strings.Contains(string(text), "\n"+patience+" ") {
		t.Fatalf("%s has no %q", file, patience)
	}
	if err := os.WriteFile(file,
		[]byte(strings.Replace(string(text), "\n"+patience+" ", "\n"+name+" = "+seconds+" ", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// sameFigures compares a notebook's figures of its cells with the report: every member, to the byte.
func sameFigures(t *testing.T, told string, r *model.Report, cells int) {
	t.Helper()
	text, err := os.ReadFile(told)
	if err != nil {
		t.Fatal("the notebook was told nothing: ", err)
	}
	var all []map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != cells {
		t.Errorf("the notebook was told of %d cells, want %d", len(all), cells)
	}
	for _, w := range all {
		sameWindow(t, w, r)
	}
}

// sameWindow compares one window of a notebook with the report's.
func sameWindow(t *testing.T, w map[string]any, r *model.Report) {
	t.Helper()
	i := slices.IndexFunc(r.Windows, func(o model.Window) bool { return float64(o.ID) == w["id"] })
	if i < 0 {
		t.Errorf("window %v is not in the report", w["id"])
		return
	}
	text, _ := json.Marshal(r.Windows[i])
	var of map[string]any
	_ = json.Unmarshal(text, &of)
	delete(w, "top")
	delete(of, "allocations")
	delete(of, "coverage")
	if !reflect.DeepEqual(w, of) {
		t.Errorf("told\n%v\nreport\n%v", w, of)
	}
}

// TestCompanion compares the notebook's figures of its cells with the report, in a bare shell of each Python, in
// chroots too.
func TestCompanion(t *testing.T) {
	onPythons(t, "", [][2]string{
		{"bullseye", "/usr/bin/python3.9"}, {"trixie", "/usr/bin/python3.13"}, {"sid", "/usr/bin/python3.14"},
	}, func(t *testing.T, p place) {
		env, told := companionAt(t, "/"+strings.TrimPrefix(p.chroot, "/"))
		s := startCellsOn(t, p, env, "import ipytracer; get_ipython().run_line_magic('load_ext', 'ipytracer')",
			"x = bytearray(32 << 20)", "y = x * 3; del y", "1/0",
			"with ipytracer.experiment('fit', keep=('z',)):\n    z = b'x' * (5 << 20)",
			"import os\nif not os.fork():\n    compile('', '<ipytracer:ask>', 'exec'); os._exit(0)\nos.wait()", tell)
		r := s.run(4) // the memory that a forked child shares with its parent is only bounded
		sameFigures(t, told, r, 5)
		fit := slices.IndexFunc(r.Windows,
			func(w model.Window) bool { return w.Kind == "experiment" && w.Name == "fit" })
		if fit < 0 {
			t.Fatal("the experiment has no window")
		}
		if w := r.Windows[fit]; w.Status != "ok" || w.Meters["cpu.resident"].Consumed < 5<<20 {
			t.Errorf("the experiment: %+v", w)
		}
	})
}

// notebook is a kernel with the companion. Its cells run on request.
type notebook struct {
	t      *testing.T
	in     io.WriteCloser
	out    *bufio.Scanner
	pid    int // of the kernel
	server int // of the process that started it
}

// request is a cell, and how it must be run: testdata/workloads/run_notebook.py.
type request map[string]any

type shown struct {
	PID     int      `json:"pid"`
	Outputs []string `json:"outputs"`
	Status  string   `json:"status"`
	Seconds float64  `json:"seconds"`
}

func startNotebook(t *testing.T, env []string, args ...string) *notebook {
	t.Helper()
	needModules(t, "ipykernel", "jupyter_client")
	cmd := exec.Command(python(), append([]string{"../testdata/workloads/run_notebook.py"}, args...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), os.Stderr
	return newNotebook(t, cmd)
}

func newNotebook(t *testing.T, cmd *exec.Cmd) *notebook {
	t.Helper()
	in, out := startPiped(t, cmd)
	n := &notebook{t: t, in: in, out: bufio.NewScanner(out), server: cmd.Process.Pid}
	n.out.Buffer(nil, 1<<20)
	n.pid = n.next().PID
	t.Cleanup(func() { // it ends its kernel; one that is left has the output open still
		defer time.AfterFunc(patience, func() { _ = syscall.Kill(n.pid, syscall.SIGKILL) }).Stop()
		_ = in.Close()
		for n.out.Scan() {
		}
	})
	return n
}

func (n *notebook) next() (s shown) {
	n.t.Helper()
	if !n.out.Scan() {
		n.t.Fatal("the notebook has ended")
	}
	if err := json.Unmarshal(n.out.Bytes(), &s); err != nil {
		n.t.Fatal(err)
	}
	return s
}

// run runs a cell, and returns all output below it.
func (n *notebook) run(cell string) string {
	n.t.Helper()
	return strings.Join(n.shownBy(cell), "")
}

// shownBy runs a cell, and returns its displays, and the displays that replace them, one after another.
func (n *notebook) shownBy(cell string) []string {
	n.t.Helper()
	s := n.asks(cell)
	if s.Seconds > 60 { // no answer may delay a cell for longer, in seconds, also on a busy machine
		n.t.Errorf("%q took %.1f s", cell, s.Seconds)
	}
	return s.Outputs
}

// asks makes the driver carry out a request: the text of a cell, or a [request].
func (n *notebook) asks(what any) shown {
	n.t.Helper()
	text, err := json.Marshal(what)
	if err != nil {
		n.t.Fatal(err)
	}
	if _, err := n.in.Write(append(text, '\n')); err != nil {
		n.t.Fatal(err)
	}
	return n.next()
}

// shows runs a cell and checks that want is below it, or nothing if want is "". On a busy machine figures may come too
// late to be waited for; then they are below one of the next cells.
func (n *notebook) shows(cell, want string) {
	n.t.Helper()
	got := n.run(cell)
	for next := 0; next < 10 && want != "" && !strings.Contains(got, want); next++ {
		got += n.run("pass")
	}
	if !strings.Contains(got, want) || want == "" && got != "" {
		n.t.Errorf("%q shows %q, want %q", cell, got, want)
	}
}

// TestCompanionInAKernel: before a tracer comes, under one, after it was killed, and under the next one.
func TestCompanionInAKernel(t *testing.T) {
	env, told := companionAt(t, "/")
	n := startNotebook(t, env)
	n.shows("%load_ext ipytracer", "sudo tracer attach")
	n.shows("x = 1", "")
	first := attach(t, n.pid)
	n.shows("x = bytearray(64 << 20)", "need 64.0")
	n.shows("%load_ext ipytracer\nimport ipytracer", "In[")
	if got := n.run("del x"); strings.Count(got, "need") > 1 {
		t.Errorf("loaded twice it shows %q", got)
	}
	_ = first.cmd.Process.Signal(syscall.SIGKILL)
	<-first.ended
	n.shows("pass", "the tracer has ended")
	n.shows("y = 2", "")
	second := attach(t, n.pid)
	n.shows("y = bytearray(48 << 20); del y", "peaked 48.0")
	n.shows("1/0", "need")
	long := n.asks(request{"code": "x = bytearray(32 << 20)\nUNTIL_SHOWN\ndel x", "until": "runs "}).Outputs
	if len(long) < 2 || !strings.Contains(long[0], "runs ") || !strings.Contains(long[0], "at most") {
		t.Errorf("a long cell shows %q", long)
	}
	n.shows("pass", "need")
	// These descriptors are not pairs of sockets.
	n.shows("for n in (0, 1, 2, 999, 10**9):\n    compile('', f'<ipytracer:line {n}>', 'exec')", "need")
	n.shows("for _ in range(200): compile('', '<ipytracer:ask>', 'exec'), compile('', '<ipytracer:cell>', 'exec')",
		"need")
	n.shows(`
from IPython.display import display
def hook(*_):
    global drawn
    drawn = bytearray(96 << 20); drawn = None
get_ipython().events.register("post_run_cell", hook)`, "need")
	// Memory that other hooks take counts for the cell.
	if got := n.run("pass"); !strings.Contains(got, "need 96.0") && strings.Contains(got, "need") {
		t.Errorf("a cell with a hook shows %q", got)
	}
	n.run("get_ipython().events.unregister('post_run_cell', hook)")
	n.run(tell)
	r, _ := second.stop()
	cells := 0
	for _, w := range r.Windows {
		if w.Kind == "cell" && !strings.Contains(w.Source, "told()") {
			cells++
		}
	}
	sameFigures(t, told, r, cells)
}
