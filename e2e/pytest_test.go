package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
)

// suiteFigures are the figures that the pytest plugin writes with --ipytracer-json.
type suiteFigures struct {
	Schema string `json:"schema"`
	Tests  []struct {
		NodeID    string                  `json:"nodeid"`
		Outcome   string                  `json:"outcome"`
		Need      *int64                  `json:"need"`
		NotJudged []string                `json:"not_judged"`
		Windows   map[string]model.Window `json:"windows"`
	} `json:"tests"`
	Session *model.Window `json:"session"`
}

// runSuite runs testdata/pytest with pytest under the tracer. It returns the plugin's figures, the output, and the
// tracer's report.
func runSuite(t *testing.T, options ...string) (told suiteFigures, out string, r *model.Report) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../testdata/pytest")); err != nil {
		t.Fatal(err)
	}
	env, _ := companionAt(t, "/")
	standins, err := filepath.Abs("../testdata/gpu")
	if err != nil {
		t.Fatal(err)
	}
	libraries := gpuLibraries.copied(t)
	figures, report := filepath.Join(dir, "figures.json"), filepath.Join(dir, "report.json")
	cmd := exec.Command(binary,
		append([]string{"run", "--quiet", "--budget", "off", "--format", "json", "-o", report, "--", python(), "-m",
			"pytest",
			"-p", "ipytracer.pytest_plugin", "-p", "no:cacheprovider", "--ipytracer", "--ipytracer-json", figures,
			"--ipytracer-wait", "300"}, options...)...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), env...), "STANDIN_LIBRARIES="+libraries, "LD_LIBRARY_PATH="+libraries)
	for i, e := range cmd.Env {
		if strings.HasPrefix(e, "PYTHONPATH=") {
			cmd.Env[i] = e + ":" + standins
		}
	}
	text, err := cmd.CombinedOutput()
	out = string(text)
	if status := exitStatus(t, err); status != 1 {
		t.Fatalf("status %d of a suite in which tests fail:\n%s", status, out)
	}
	if text, err = os.ReadFile(figures); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &told); err != nil {
		t.Fatal(err)
	}
	return told, out, readReport(t, report)
}

// checkSuite compares the outcomes of the tests with their names, and the plugin's figures of them with the report.
func checkSuite(t *testing.T, told suiteFigures, out string, r *model.Report) {
	t.Helper()
	if told.Schema != "ipytracer/pytest/v1" || len(told.Tests) != 17 {
		t.Fatalf("schema %q, %d tests:\n%s", told.Schema, len(told.Tests), out)
	}
	for _, one := range told.Tests {
		name := one.NodeID[strings.LastIndex(one.NodeID, "::")+2:]
		want := "passed"
		if strings.Contains(name, "fails_") {
			want = "failed"
		}
		if one.Outcome != want {
			t.Errorf("%s: %s, want %s", name, one.Outcome, want)
		}
		if unjudged := strings.Contains(name, "unjudged_"); unjudged != (len(one.NotJudged) > 0) {
			t.Errorf("%s: not judged: %q", name, one.NotJudged)
		}
		if one.Need == nil || len(one.Windows) < 3 {
			t.Errorf("%s: %d windows", name, len(one.Windows))
		}
		for phase, w := range one.Windows {
			i := slices.IndexFunc(r.Windows, func(of model.Window) bool { return of.ID == w.ID })
			if i < 0 {
				t.Errorf("%s: %s is not in the report", name, phase)
				continue
			}
			of := r.Windows[i]
			if of.Kind != model.Experiment || of.Status != "ok" || !strings.HasSuffix(of.Name, ", "+phase) ||
				!sameMeters(w.Meters, of.Meters) || !sameMeters(w.Tree, of.Tree) {
				t.Errorf("%s, %s, %s: told\n%+v\n%+v\nreport, %s\n%+v\n%+v", name, phase, w.Name, w.Meters, w.Tree,
					of.Name, of.Meters, of.Tree)
			}
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// sameMeters compares figures of a test with the report, which has the meters of GPUs in every window once the session
// has used one.
func sameMeters(told, report map[string]model.Figure) bool {
	for m, f := range report {
		if o, ok := told[m]; !(ok && o.Equal(f)) && (ok || f.Peak != 0 || !strings.HasPrefix(m, "gpu.")) {
			return false
		}
	}
	for m := range told {
		if _, ok := report[m]; !ok {
			return false
		}
	}
	return true
}

// TestPytest: each test of a suite of planted needs and leaks ends as it must, and its figures are those of the report.
func TestPytest(t *testing.T) {
	together(t)
	needModules(t, "pytest")
	told, out, _ := runSuite(t, "-p", "no:xdist", "--ipytracer-strict", "--deselect",
		"test_needs.py::test_unjudged_objects")
	if strings.Contains(out, "not judged") {
		t.Errorf("all that is left can be judged:\n%s", out)
	}
	if len(told.Tests) != 16 {
		t.Errorf("%d tests:\n%s", len(told.Tests), out)
	}
	told, out, r := runSuite(t, "-p", "no:xdist")
	checkSuite(t, told, out, r)
	exact := map[string]int64{"test_passes_below": 64 << 20, "test_passes_beside_a_fixture": 16 << 20}
	for _, one := range told.Tests {
		if size, ok := exact[one.NodeID[strings.LastIndex(one.NodeID, "::")+2:]]; ok {
			if f := one.Windows["call"].Meters["cpu.numpy"]; f.Peak-f.Start != size || f.Consumed != 0 || !f.Exact {
				t.Errorf("%s: numpy %+v, want a need of %d", one.NodeID, f, size)
			}
		}
	}
	if told.Session == nil || told.Session.Meters["cpu.resident"].Peak < 64<<20 {
		t.Errorf("the whole run: %+v", told.Session)
	}
	for _, say := range []string{"limit_memory: resident needs 64.0",
		"no_leaks: each of 3 further runs leaves memory behind", "numpy 1.00 MiB, 1.00 MiB, 1.00 MiB",
		"limit_memory: GPU 0 driver needs 32.00 MiB, not below 32.00 MiB", "not judged: 1 test"} {
		if !strings.Contains(out, say) {
			t.Errorf("nothing says %q:\n%s", say, out)
		}
	}
}

// TestPytestWorkers: with xdist each worker has its own line, and the figures of its tests are its own and its
// children's, not another worker's.
func TestPytestWorkers(t *testing.T) {
	together(t)
	needModules(t, "pytest", "xdist")
	told, out, r := runSuite(t, "-n", "3")
	checkSuite(t, told, out, r)
	workers := map[int]bool{}
	for _, one := range told.Tests {
		workers[one.Windows["call"].PID] = true
	}
	if len(workers) < 2 {
		t.Errorf("%d workers:\n%s", len(workers), out)
	}
}
