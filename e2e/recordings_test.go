package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"testing"

	"ipytracer/model"
)

// someNotebooks returns the notebooks that $TRACER_NOTEBOOKS names ("all" for all of them); if it names none, a few
// with worker processes, storms or tensors.
func someNotebooks(t *testing.T, few ...string) [][]string {
	t.Helper()
	if os.Getenv("TRACER_NOTEBOOKS") != "" {
		return notebooks(t)
	}
	var kernels [][]string
	for _, name := range few {
		kernels = append(kernels, []string{name})
	}
	return kernels
}

// TestRecordings: the page of a session, which has its report and its audit, and the messages of --strict equal those
// of its recording, byte for byte. `make test-recordings` does the same with every notebook.
func TestRecordings(t *testing.T) {
	together(t)
	needModules(t, "sklearn", "matplotlib", "seaborn", "joblib", "torch", "PIL", "pandas")
	for _, names := range someNotebooks(t, "processes", "text") {
		for _, budget := range []string{"3%", "0.5%"} {
			t.Run(kernelName(names)+" at "+budget, func(t *testing.T) {
				t.Parallel()
				checkReprinted(t, names, budget)
			})
		}
	}
}

func checkReprinted(t *testing.T, names []string, budget string) {
	t.Helper()
	w := startWorkload(t, place{driver: "../notebooks/run_notebook.py"}, names)
	file := filepath.Join(t.TempDir(), "run.arrows")
	tr := attach(t, w.pid, "--record", file, "--budget", budget, "--format", "html", "--strict=all")
	w.run()
	_ = tr.cmd.Process.Signal(os.Interrupt)
	<-tr.ended
	again := exec.Command(binary, "report", "--quiet", "--format", "html", "--strict=all", file)
	page, err := again.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if live, replayed := exitStatus(t, tr.err), exitStatus(t, err); live != replayed {
		t.Errorf("live the exit status is %d, of the recording %d", live, replayed)
	}
	if !bytes.Equal(tr.stdout.Bytes(), page) || len(page) < 1000 {
		t.Errorf("live and replayed pages differ:\n%s", difference(tr.stdout.Bytes(), page))
		keep(t, file)
	}
	if live, replayed := strictly(tr.stderr.String()), strictly(said(err)); live != replayed {
		t.Errorf("live it said %q, of the recording %q", live, replayed)
	}
}

// strictly returns the messages of --strict.
func strictly(stderr string) string { return regexp.MustCompile(`--strict.*`).FindString(stderr) }

// smallBudgets are budgets at which meters are stepped down, and at the smaller one statements and their ends, too.
var smallBudgets = []string{"0.5%", "0.02%"}

// TestLeastOfNotebooks runs at budgets at which every group is stepped down somewhere. Every lower bound is one, in
// every window: another tracer that watches the same kernel counts all.
func TestLeastOfNotebooks(t *testing.T) {
	together(t)
	needModules(t, "sklearn", "matplotlib", "seaborn", "joblib", "torch", "PIL", "pandas")
	var bounds atomic.Int64 // of all notebooks together: in many of them no group is stepped down
	t.Cleanup(func() {
		if t.Logf("%d lower bounds", bounds.Load()); bounds.Load() == 0 {
			t.Errorf("there is no lower bound at %s in any notebook", smallBudgets)
		}
	})
	for _, names := range someNotebooks(t, "simulation", "torch_training", "joblib_workers") {
		t.Run(kernelName(names), func(t *testing.T) {
			t.Parallel()
			w := startWorkload(t, place{driver: "../notebooks/run_notebook.py"}, names)
			all := attach(t, w.pid, "--budget", "off", "--ring", "65536")
			var some []*trace
			for _, budget := range smallBudgets {
				some = append(some, attach(t, w.pid, "--budget", budget))
			}
			w.run()
			var least []*model.Report
			for _, one := range some {
				report, _ := one.stop()
				least = append(least, report)
			}
			truth, _ := all.stop()
			for i, one := range least {
				n := compareLeast(t, one, truth)
				t.Logf("%d lower bounds at %s", n, smallBudgets[i])
				bounds.Add(int64(n))
			}
		})
	}
}

// TestLeastOfStorms: the same for cells that storm, while arrays and tensors come and go unseen.
func TestLeastOfStorms(t *testing.T) {
	require(t)
	needModules(t, "torch")
	s := startShell(t)
	s.run("import numpy as np, torch, time")
	all := attach(t, s.pid, "--budget", "off", "--ring", "65536")
	some := attach(t, s.pid, "--budget", "0.5%", "--verbose")
	s.run("keep = np.ones(1 << 20)", "goes = [np.ones(1 << 17) for i in range(10)]",
		"tensors = [torch.ones(1 << 18) for i in range(10)]")
	s.run("for i in range(150_000): np.ones(2000)", "late = [np.ones(1 << 18) for i in range(8)]",
		"late += [torch.ones(1 << 18)]")
	s.run("for i in range(100_000): torch.ones(300)", "more = torch.ones(1 << 20)", "del goes[:5], tensors[:5]")
	some.saysTimes("stepped up again", 1)
	s.run("x = np.ones(1 << 19)", "time.sleep(1)", "del x", "y = np.ones(1 << 16)")
	some.saysTimes("looked for arrays", 1)
	s.run("for i in range(60_000): np.ones(2000)", "z = [np.ones(1 << 16) for i in range(20)]", "del z")
	s.run("t = torch.ones(1 << 21)", "del t, late, goes, tensors")
	s.run("for i in range(30_000): np.ones(3000); torch.ones(300)", "again = np.ones(1 << 20)")
	least, _ := some.stop()
	truth, _ := all.stop()
	if n := compareLeast(t, least, truth); n < 10 {
		t.Errorf("%d lower bounds: this is no storm", n)
	}
	if c := least.Certificate; c.Complete || len(c.Incomplete) == 0 {
		t.Errorf("meters were stepped down, and the certificate is complete: %+v", c.Incomplete)
	}
}

// compareLeast compares the windows that two reports of one session have in common. It returns the number of lower
// bounds in the first one.
func compareLeast(t *testing.T, least, truth *model.Report) (bounds int) {
	t.Helper()
	checkFound(t, least)
	of := windowsByName(truth)
	for name, w := range windowsByName(least) {
		other, ok := of[name]
		if !ok {
			continue
		}
		for id, f := range w.Meters {
			if !isLeast(f) {
				continue
			}
			bounds++
			is := other.Meters[id]
			if !is.Exact && is.Bound == nil {
				continue
			}
			if slack := boundOf(is); f.Need() > is.Need()+slack || f.Peaked > is.Peaked+slack ||
				f.Peak > is.Peak+slack {
				t.Errorf("%s: %s is said to be at least %s, and is %s", name, id, figureOf(f), figureOf(is))
			}
		}
	}
	return bounds
}

func boundOf(f model.Figure) int64 {
	if f.Bound == nil {
		return 0
	}
	return *f.Bound
}

// windowsByName returns the windows of a report that have a unique name. Names identify windows, because statements of
// a pause are in only one of the reports.
func windowsByName(r *model.Report) map[string]*model.Window {
	cells, all, often := map[int]string{}, map[string]*model.Window{}, map[string]int{}
	for i := range r.Windows {
		w := &r.Windows[i]
		name := fmt.Sprintf("%s of pid %d", w.Kind, w.PID)
		switch w.Kind {
		case model.Cell:
			if w.ExecutionCount == nil {
				continue
			}
			name = fmt.Sprintf("In[%d] of pid %d: %.60q", *w.ExecutionCount, w.PID, w.Source)
			cells[w.ID] = name
		case model.Statement:
			name = fmt.Sprintf("line %d (%s) of %s", w.Line, w.Name, cells[w.Parent])
		case model.Experiment:
			name += " " + w.Name
		}
		all[name] = w
		often[name]++
	}
	for name, n := range often {
		if n > 1 {
			delete(all, name)
		}
	}
	return all
}
