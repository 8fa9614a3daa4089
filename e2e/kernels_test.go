package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ipytracer/model"
)

// TestSeveralKernels traces two kernels in one session, one notebook each. In every format, live and of the recording,
// each In[N] has the name of its notebook, and the first screen has the highest moment of both.
func TestSeveralKernels(t *testing.T) {
	together(t)
	w := startWorkload(t, place{driver: "run_kernels.py"}, nil)
	recorded := filepath.Join(t.TempDir(), "two.arrows")
	live := liveReport(t, w.pid, w.others[0])
	tr := attach(t, w.pid, "--budget", "off", "--record", recorded, fmt.Sprint(w.others[0]))
	kernels := output(t, "kernels")
	results := w.run()
	r, data := tr.stop()
	checkCertificate(t, r)
	lines, report := live()
	names := map[int]string{w.pid: "train.ipynb", w.others[0]: "eda.ipynb"}
	checkKernels(t, r, names, len(results))
	for _, run := range results {
		want := fmt.Sprintf("In[%d]   %d %s ", *run.ExecutionCount, run.Kernel, names[run.Kernel])
		if !strings.Contains(lines, want) {
			t.Errorf("no live line begins with %q:\n%s", want, lines)
		}
	}
	for _, want := range []string{" in In[2] of train.ipynb, line 4: len(make(70_000_001))",
		" in In[2] of eda.ipynb, line 4: len(make(60_000_001))", "still there  in train.ipynb: ",
		"to free it   in train.ipynb: del ",
		fmt.Sprintf("pid %d · train.ipynb", w.pid), fmt.Sprintf("pid %d · eda.ipynb", w.others[0]),
		fmt.Sprintf("In[1] of eda.ipynb    %d ", w.others[0])} {
		if !strings.Contains(report, want) {
			t.Errorf("the report does not say %q:\n%s", want, report)
		}
	}
	if again := output(t, "report", "--format", "json", recorded); !bytes.Equal(again, data) {
		t.Error("the recording's report is another one")
	}
	texts := map[string]string{"live report": report, "audit": string(output(t, "audit", recorded)),
		"plan": string(output(t, "plan", recorded)), "diff": string(output(t, "diff", recorded, recorded))}
	for _, format := range []string{"text", "markdown", "allocations-csv"} {
		texts[format] = string(output(t, "report", "--full", "--format", format, recorded))
	}
	for name, text := range texts {
		checkNotebooks(t, name, text)
	}
	for pid, name := range names {
		if row := regexp.MustCompile(fmt.Sprintf(`(?m)^ *%d .* %s$`, pid,
			regexp.QuoteMeta(name))); !row.Match(kernels) {
			t.Errorf("'tracer kernels' has no notebook %s of pid %d:\n%s", name, pid, kernels)
		}
	}
	if csv := string(output(t, "report", "--format", "csv", recorded)); !strings.Contains(csv,
		fmt.Sprintf(",%d,eda.ipynb,", w.others[0])) {
		t.Errorf("CSV: %.400s", csv)
	}
}

// checkKernels checks that each cell and call has the name of its kernel.
func checkKernels(t *testing.T, r *model.Report, names map[int]string, cells int) {
	t.Helper()
	for _, p := range r.Processes {
		if p.Kernel != names[p.PID] || p.Notebook != "/home/ada/work/"+p.Kernel {
			t.Errorf("pid %d: %q of %q", p.PID, p.Kernel, p.Notebook)
		}
	}
	for _, w := range r.Windows {
		if w.Kind == model.Cell {
			cells--
		}
		if w.Kernel != names[w.PID] {
			t.Errorf("%s %q of pid %d: %q", w.Kind, w.Source, w.PID, w.Kernel)
		}
		for _, a := range w.Allocations {
			for _, f := range a.Stack {
				if f.InCell() && f.Kernel != names[w.PID] {
					t.Errorf("%q: %+v", w.Source, f)
				}
			}
		}
	}
	if cells != 0 {
		t.Errorf("%d cells have no window", cells)
	}
}

var (
	cellNamed = regexp.MustCompile(`In\[[0-9]+\]`)
	// ofNotebook matches the name of a notebook after the name of a cell. Tables and pages may cut off some of its
	// characters.
	ofNotebook = regexp.MustCompile(`^(?:\s+of\s+(?:train|eda)\.ipynb|` +
		`\s+(?:and|to|→)\s+In\[[0-9]+\]\s+of\s+(?:train|eda)\.ipynb|` +
		` +[0-9]+ (?:train|eda)\.ipynb|[^\n]{0,24}…)`)
)

// checkNotebooks checks that each In[N] of a text names its notebook.
func checkNotebooks(t *testing.T, name, text string) {
	t.Helper()
	all := cellNamed.FindAllStringIndex(text, -1)
	if len(all) == 0 {
		t.Errorf("%s names no cell:\n%.2000s", name, text)
	}
	for _, at := range all {
		if !ofNotebook.MatchString(text[at[1]:]) {
			t.Errorf("%s: whose is %q?", name, text[max(0, at[0]-60):min(len(text), at[1]+60)])
		}
	}
}

// liveReport starts a session of some processes that prints text. It returns a function that ends the session, and
// returns its lines about cells and its report.
func liveReport(t *testing.T, pids ...int) func() (lines, report string) {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready")
	args := []string{"attach", "--budget", "off", "--ready-file", ready}
	for _, pid := range pids {
		args = append(args, fmt.Sprint(pid))
	}
	cmd := exec.Command(binary, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	until(t, "the tracer is ready", func() bool { _, err := os.Stat(ready); return err == nil })
	return func() (string, string) {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %s", err, stderr.String())
		}
		return stderr.String(), stdout.String()
	}
}

// output returns the output of a command.
func output(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := exec.Command(binary, args...).Output()
	if err != nil {
		t.Fatalf("tracer %s: %v", strings.Join(args, " "), err)
	}
	return out
}
