package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ipytracer/model"
)

// measured runs a cell that has figures below it or shows them, and returns the output. On a busy machine the figures
// may come too late; then it runs the cell again, after the code before, which restores what the cell changed.
func (n *notebook) measured(before, cell string) string {
	n.t.Helper()
	for range 40 {
		n.run(before)
		got := n.run(cell)
		if !strings.Contains(got, "–") && !strings.Contains(got, "nan") && !strings.Contains(got, "≥") &&
			!strings.Contains(got, "None") {
			return got
		}
	}
	n.t.Fatalf("%q has no figures", cell)
	return ""
}

// captured runs [notebook.measured] for a cell within %%capture, and returns the captured text.
func (n *notebook) captured(before, cell string) string {
	n.t.Helper()
	for range 40 {
		n.run(before)
		n.run("%%capture output\n" + cell)
		if got := n.run("print(output)"); strings.Contains(got, "･") &&
			!strings.Contains(got[:strings.LastIndex(got, "･")], "–") {
			return got
		}
	}
	n.t.Fatalf("%q has no figures", cell)
	return ""
}

// has compares numbers in the output of a cell with the wanted ones, within a tolerance.
func has(t *testing.T, got, pattern string, within float64, want ...float64) {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(got)
	if len(found) != len(want)+1 {
		t.Errorf("%q is not in\n%s", pattern, got)
		return
	}
	for i, text := range found[1:] {
		n, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
		if err != nil || n < want[i]-within || n > want[i]+within {
			t.Errorf("%s, want %v, in\n%s", text, want[i], got)
		}
	}
}

const compatFunctions = `
import json, os, gc
from ipytracer.compat.ipyexperiments import IPyExperimentsCPU
from ipytracer.compat.memwatcher import MemWatcher
from ipytracer.compat.pytorch_memlab import LineProfiler
from ipytracer.compat.fastai_mem import GPUMemTrace
import numpy as np
seen = []
def note(logger):
    if logger.window is not None:
        seen.append([logger.window.id, *logger.data.cpu])
def lines():
    a = np.ones(1 << 20)
    b = np.ones(3 << 20); del b
    return a
def inner():
    return lines()
`

// TestCompat makes the calls of older tools in a real kernel under a real tracer. It asserts the same as their own
// tests, and the same bytes as in the report.
func TestCompat(t *testing.T) {
	needModules(t, "numpy")
	env, told := companionAt(t, "/")
	n := startNotebook(t, env)
	tr := attach(t, n.pid)
	n.run(compatFunctions)
	compatCells(t, n)
	compatExperiments(t, n)
	n.run("mw = MemWatcher(); mw.start_watching_memory()")
	has(t, n.measured("a = None", "a = bytearray(64 << 20); b = bytearray(32 << 20); del b"),
		`used ([\d.]+) MiB RAM in .*, peaked ([\d.]+) MiB above`, 2.5, 64, 32)
	has(t, n.measured("",
		"print('total', mw.measurements.memory_usage - mw.window.meters['cpu.resident'].end / 2**20)\n"),
		`total ([-\d.]+)`, 0, 0)
	n.run("mw.stop_watching_memory()\n%load_ext ipytracer.compat.ipython_memory_usage\n%imu_start")
	has(t, n.measured("a = None", "a = bytearray(64 << 20); b = bytearray(32 << 20); del b"),
		`used ([\d.]+) MiB RAM in .*, peaked ([\d.]+) MiB above`, 2.5, 64, 32)
	n.run("%imu_stop")
	got := n.measured("",
		"with LineProfiler(lines, inner) as p: lines(); inner()\n"+
			"print(p.display(columns=['numpy_bytes.all.peak', 'numpy_bytes.all.current']))")
	has(t, got, `([\d.]+)M +([\d.]+)M +\d+      a = np.ones`, 0, 8, 8)
	has(t, got, `([\d.]+)M +([\d.]+)M +\d+      b = np.ones`, 0, 32, 8)
	has(t, got, `([\d.]+)M +([\d.]+)M +\d+      return lines`, 0, 32, 8)
	got = n.measured("", "t = GPUMemTrace(); d = t.data(); print(d)")
	if !strings.Contains(got, "(0, 0)") {
		t.Errorf("a process without a GPU: %s", got)
	}
	n.run("with open(os.environ['TOLD'], 'w') as f: json.dump(seen, f)")
	r, _ := tr.stop()
	compatSameFigures(t, told, r)
}

func compatCells(t *testing.T, n *notebook) {
	t.Helper()
	const sizes = `･ CPU: +([-\d,]+) +([-\d,]+) +[\d,]+ MB`
	n.run("exp = IPyExperimentsCPU(exp_enable=False)")
	has(t, n.measured("a = None", "a = bytearray(128 << 20)"), sizes, 2, 128, 0)
	n.run("note(exp.cl)")
	has(t, n.measured("a = b = None", "a = bytearray(128 << 20); b = bytearray(128 << 20); del a"), sizes, 2, 128, 128)
	n.run("note(exp.cl)")
	n.run("del b\nnote(exp.cl)")
	n.run("try:\n    c = bytearray(30 << 20); del c; 1/0\nfinally: note(exp.cl)")
	got := n.measured("a = None; output = None", "%%capture output\na = bytearray(128 << 20)")
	has(t, got, sizes, 2, 128, 0) // of the outer cell
	n.run("note(exp.cl)")
	has(t, n.captured("a = None", "a = bytearray(128 << 20)"), sizes, 2, 128, 0)
	// gc.collect() frees the objects that it finds before the measurement.
	has(t, n.captured("a = None",
		"a = bytearray(128 << 20); loop = [bytearray(64 << 20)]; loop.append(loop); del loop"), sizes, 2, 128, 64)
	n.run("exp.cl.stop()")
	if got = n.run("a = bytearray(128 << 20)"); got != "" {
		t.Errorf("a logger that was stopped: %q", got)
	}
	n.run("del a, exp")
}

func compatExperiments(t *testing.T, n *notebook) {
	t.Helper()
	const reclaimed = `Consumed +Reclaimed\nCPU: +([\d,]+) +([\d,]+) MB \(([\d. ]+)%\)`
	got := n.measured("x1 = None; del x1",
		"exp = IPyExperimentsCPU(cl_enable=False)\nx1 = bytearray(128 << 20); x2 = bytearray(128 << 20)\n"+
			"print(exp.data.cpu)\ndel exp")
	has(t, got, reclaimed, 2, 256, 256, 100)
	has(t, got, `consumed=(\d+), reclaimed=0`, 4<<20, 256<<20)
	if !strings.Contains(got, "Deleted: x1, x2") {
		t.Error(got)
	}
	got = n.measured("x4 = None",
		"with IPyExperimentsCPU(cl_enable=False) as exp:\n"+
			"    x1 = bytearray(128 << 20); kept = 'data'; exp.keep_var_names('kept'); import math\n"+
			"    x4 = bytearray(64 << 20)")
	has(t, got, reclaimed[:len(reclaimed)-len(` \(([\d. ]+)%\)`)], 2, 192, 128)
	if got = n.run("print(sorted(set(globals()) & {'x1', 'kept', 'math', 'x4'}), " +
		"exp.data == exp.finish())"); !strings.Contains(got, "['kept', 'math', 'x4'] True") {
		t.Error("names that are left: ", got)
	}
}

// compatSameFigures compares the data of a cell logger with the report of that cell.
func compatSameFigures(t *testing.T, told string, r *model.Report) {
	t.Helper()
	text, err := os.ReadFile(told)
	if err != nil {
		t.Fatal("nothing was noted: ", err)
	}
	var all [][4]int64
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, noted := range all {
		i := slices.IndexFunc(r.Windows, func(w model.Window) bool { return int64(w.ID) == noted[0] })
		if i < 0 || r.Windows[i].Kind != "cell" {
			t.Errorf("window %d of a cell is not in the report", noted[0])
			continue
		}
		f := r.Windows[i].Meters["cpu.resident"]
		compared++
		if want := [4]int64{noted[0], f.Consumed, max(0, f.Peak-f.Start-max(0, f.Consumed)), f.End}; noted != want {
			t.Errorf("%s: noted %v, the report has %v", r.Windows[i].Source, noted, want)
		}
	}
	if compared < 3 {
		t.Errorf("only %d cells were compared", compared)
	}
}

// joined returns one environment from several. It joins the values of path variables that several of them set.
func joined(lists ...[]string) (all []string) {
	values := map[string]string{}
	for _, list := range lists {
		for _, entry := range list {
			name, value, _ := strings.Cut(entry, "=")
			if before := values[name]; before != "" && strings.HasSuffix(name, "PATH") {
				value = before + ":" + value
			}
			values[name] = value
		}
	}
	for name, value := range values {
		all = append(all, name+"="+value)
	}
	return all
}

// plainScript uses a profiler at once, while the tracer that started it is stopped; the tracer continues at the third
// offer of the line.
const plainScript = `
import atexit, os, signal, sys
tracer, offers = os.getppid(), []
os.kill(tracer, signal.SIGSTOP)
atexit.register(os.kill, tracer, signal.SIGCONT)
def hears(event, arguments):
    if event == "compile" and isinstance(arguments[1], str) and arguments[1].startswith("<ipytracer:line "):
        offers.append(1)
        if len(offers) == 3: os.kill(tracer, signal.SIGCONT)
sys.addaudithook(hears)
from ipytracer.compat.pytorch_memlab import LineProfiler
def work():
    a = bytearray(64 << 20)
    return a
for _ in range(50):
    with LineProfiler(work) as p:
        work()
    text = str(p.display(columns=["resident_bytes.all.peak"]))
    if "No data" not in text:
        break  # a figure is waited for a fifth of a second, which a busy machine may exceed
print(text)
`

// TestCompatPlain: the first use of a plain Python's profiler waits for the tracer that started it, and for no other.
func TestCompatPlain(t *testing.T) {
	together(t)
	env, _ := companionAt(t, "/")
	script := filepath.Join(t.TempDir(), "script.py")
	if err := os.WriteFile(script, []byte(plainScript), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "run", "-q", "-o", "/dev/null", "--", python(), script)
	cmd.Env = joined(os.Environ(), env)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "no tracer listens") {
		t.Fatalf("%v\n%s", err, out)
	}
	found := regexp.MustCompile(`([\d.]+)M +\d+      a = bytearray`).FindSubmatch(out)
	if n, err := strconv.ParseFloat(string(append(found, nil, nil)[1]), 64); err != nil || n < 64 {
		t.Errorf("%v in\n%s", err, out)
	}
}
