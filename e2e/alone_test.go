package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ipytracer/model"
)

// alone is the verdict of run_alone.py on the figures that a process reads of itself.
type alone struct {
	Cells, Wrong, UID int
	Figures           map[string]map[string]int // by meter and by the kind of bound, how many were compared
	Sources           map[string]string
	Complete          bool
}

// asNobody is a shell program that starts its arguments below $ROOT as a user without rights, with a /proc as Docker
// gives it. $PROC is one more option of its mount.
const asNobody = `set -e
mount -t proc -o "nosuid,nodev,noexec$PROC" proc $ROOT/proc
for file in $ROOT/proc/kcore $ROOT/proc/keys $ROOT/proc/timer_list; do
	[ ! -e $file ] || mount --bind /dev/null $file
done
[ ! -d $ROOT/proc/acpi ] || mount -t tmpfs -o ro tmpfs $ROOT/proc/acpi
exec chroot "$ROOT/" \
	setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all --inh-caps -all --no-new-privs "$@"`

// TestCompanionAlone runs the cells of known truth without a tracer, as a user without rights in a container: each
// figure that the companion gives there has the truth within its bound, and NumPy's arrays are counted to the byte.
func TestCompanionAlone(t *testing.T) {
	together(t)
	const back = "VmHWM, set back at the ends"
	counts := []string{"--counts"}
	for name, c := range map[string]struct {
		place          place
		proc, resident string
		arguments      []string
	}{
		"plain":           {resident: back},
		"counts":          {resident: back, arguments: counts},
		"read-only /proc": {proc: ",ro", resident: "VmHWM"},
		"python3.9":       {place: inTree("bullseye", "3.9"), resident: back},
		"python3.13":      {place: inTree("trixie", "3.13"), resident: back, arguments: counts},
		"python3.14":      {place: inTree("sid", "3.14"), resident: back, arguments: counts},
		"python3.15":      {place: inTree("sid", "3.15"), resident: back, arguments: counts},
		"numpy1.22":       {place: inTree("numpys", "3.9").with("1.22"), resident: back, arguments: counts},
		"numpy1.23":       {place: inTree("numpys", "3.9").with("1.23"), resident: back, arguments: counts},
	} {
		t.Run(name, func(t *testing.T) {
			c.place.need(t)
			found := runAlone(t, c.place, c.proc, c.arguments...)
			t.Logf("%d cells: %v", found.Cells, found.Figures)
			if found.UID != nobody || found.Wrong != 0 || found.Cells < 80 || found.Complete {
				t.Errorf("%+v", found)
			}
			if found.Sources["cpu.resident"] != c.resident {
				t.Errorf("resident memory is from %q", found.Sources["cpu.resident"])
			}
			if n := found.Figures["cpu.resident"]["bounded"]; n < 100 {
				t.Errorf("%d figures of resident memory have a bound", n)
			}
			if n := found.Figures["cpu.mapped"]["at least"]; n < 100 {
				t.Errorf("%d figures of mapped memory are at least", n)
			}
			numpy := found.Figures["cpu.numpy"]
			if counts := len(c.arguments) > 0; counts != (numpy["exact"] >= 80) || len(numpy) > 1 {
				t.Errorf("NumPy: %v", numpy)
			}
		})
	}
}

// runAlone runs run_alone.py as nobody.
func runAlone(t *testing.T, p place, proc string, arguments ...string) alone {
	t.Helper()
	folder := nobodysFolder(t)
	cmd := nobodysPython(t, folder, p, proc, append([]string{filepath.Join(folder, "workloads/run_alone.py"), folder},
		arguments...)...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	var found alone
	if json.Unmarshal(lines[len(lines)-1], &found) != nil || err != nil {
		t.Fatalf("%v:\n%s%s", err, out, errors.Bytes())
	}
	return found
}

// nobodysPython is a Python of nobody's, with the companion. The companion's files go into nobody's folder: nobody may
// not be able to reach this checkout.
func nobodysPython(t *testing.T, folder string, p place, proc string, arguments ...string) *exec.Cmd {
	t.Helper()
	library := filepath.Join(truthLibrary.made(t), "libtruth.so")
	copying := exec.Command("cp", "-r", "../python/src", "../testdata/workloads", library, folder)
	if out, err := copying.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	buildCounts(t, filepath.Join(folder, "src/ipytracer/counts"))
	words := append([]string{"--mount", "--pid", "--fork", "--kill-child", "bash", "-c", asNobody, "bash",
		cmp.Or(p.python, python())}, arguments...)
	cmd := exec.CommandContext(t.Context(), "unshare", words...)
	cmd.Env = append(os.Environ(), "ROOT="+p.chroot, "PROC="+proc,
		"PYTHONPATH="+filepath.Join(folder, "src")+":"+p.numpy,
		"IPYTRACER_TRUTH_LIBRARY="+filepath.Join(folder, "libtruth.so"), "PYTHONDONTWRITEBYTECODE=1",
		"TMPDIR="+folder, "HOME="+folder)
	return cmd
}

// TestCompatAlone makes the calls of ipyexperiments in nobody's kernel, without a tracer, and asserts the same as the
// original's tests.
func TestCompatAlone(t *testing.T) {
	together(t)
	needModules(t, "ipykernel", "jupyter_client", "numpy")
	folder := nobodysFolder(t)
	cmd := nobodysPython(t, folder, place{}, "", filepath.Join(folder, "workloads/run_notebook.py"))
	cmd.Stderr = os.Stderr
	n := newNotebook(t, cmd)
	n.pid = n.server // its own number is one of the container's
	n.run(compatFunctions)
	compatCells(t, n)
	compatExperiments(t, n)
}

// TestTracerBesideCounts compares both ways to count NumPy's arrays in one process, to the byte: the library inside,
// and the tracer's probes, which remain the reference.
func TestTracerBesideCounts(t *testing.T) {
	together(t)
	env, told := companionAt(t, "/")
	buildCounts(t, filepath.Join(filepath.Dir(told), "ipytracer/counts"))
	n := startNotebook(t, env)
	for _, cell := range []string{"import json, os, threading\nimport numpy as np\nkept = []", "%load_ext ipytracer",
		"%tracer counts on", "from ipytracer._counts import COUNTS"} {
		n.run(cell)
	}
	tr := attach(t, n.pid, "--small-arrays", "--budget", "off")
	cells := []string{
		"a = np.ones(1 << 20)", "(a * 2 + 1).sum()", "b = [np.ones(n % 3000) for n in range(2000)]", "del b[::2]",
		"c = np.ones(5); c.resize(100_000, refcheck=False)", "d = np.fromiter(iter(range(12345)), 'i8')",
		"t = threading.Thread(target=lambda: kept.append(np.ones(3000))); t.start(); t.join()",
		"e = np.array([object() for _ in range(1000)])", "del a, b, c, d, e; kept.clear()",
	}
	for _, cell := range cells {
		n.run("COUNTS.rests = False; COUNTS.arm()\n_ = COUNTS.take()\n" + cell +
			"\nkept_figures = globals().setdefault('kept_figures', [])\nkept_figures.append(COUNTS.take())")
	}
	n.run("json.dump(kept_figures, open(os.environ['TOLD'], 'w'))")
	r, _ := tr.stop()
	var figures [][3]any
	data, err := os.ReadFile(told)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &figures); err != nil || len(figures) != len(cells) {
		t.Fatalf("%v: %s", err, data)
	}
	before := int64(0)
	windows := topCells(r, n.pid)
	for i, f := range figures {
		end, peak, whole := int64(f[0].(float64)), int64(f[1].(float64)), f[2].(bool)
		counted := model.Figure{Start: before, Peak: peak, End: end}
		before = counted.End
		got := windows[i].Meters["cpu.numpy"]
		if !whole || !got.Exact || got.Start != counted.Start || got.Peak != counted.Peak || got.End != counted.End {
			t.Errorf("%s: the process counts %+v (all: %v), the tracer %+v", cells[i], counted, whole, got)
		}
	}
}

// buildCounts builds the counting library in a folder of the companion's copy.
func buildCounts(t *testing.T, folder string) {
	t.Helper()
	if out, err := exec.Command("../scripts/counts.sh", folder).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
