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

// TestAdviseAsked has a notebook ask for advice while it is traced, and compares it with `tracer advise` of the
// recording: the same line, name, saving and change. The question changes nothing in the report.
func TestAdviseAsked(t *testing.T) {
	needModules(t, "numpy")
	env, _ := companionAt(t, "/")
	n := startNotebook(t, env)
	recording := filepath.Join(t.TempDir(), "run.arrows")
	tr := attach(t, n.pid, "--record", recording)
	n.runs("%load_ext ipytracer\n%tracer off\nimport numpy as np")
	n.runs("raw = np.ones(24 << 20)\ntotal = raw.sum()")
	n.runs("big = np.ones(32 << 20)\nbig *= total")
	shown := n.asksUntil("%tracer advise", "lower")
	r, _ := tr.stop()
	for _, part := range []string{"1  192.00 MiB lower: In[3] line 2", "raw holds 192.00 MiB", "+del raw",
		"saves       192.00 MiB · exact", "sudo tracer try"} {
		if !strings.Contains(shown, part) {
			t.Errorf("%q is not in\n%s", part, shown)
		}
	}
	out, err := exec.Command(binary, "advise", "--quiet", recording).Output()
	if err != nil {
		t.Fatal(err)
	}
	_, first, _ := strings.Cut(shown, "\n1  ")
	if first, _, _ = strings.Cut(first, "then"); !strings.Contains(unwrapped(string(out)), unwrapped(first)) {
		t.Errorf("asked while it ran:\n%s\nof the recording:\n%s", shown, out)
	}
	cells := 0
	for _, w := range r.Windows {
		if w.Kind == model.Cell {
			cells++
		}
	}
	if cells < 4 || !r.Certificate.Complete {
		t.Errorf("%d cells, complete: %v", cells, r.Certificate.Complete)
	}
}

// TestAdviseRunning has `tracer advise` watch a running kernel: it prints the same line, name, saving and change as for
// the recording of that session, which --record writes.
func TestAdviseRunning(t *testing.T) {
	needModules(t, "numpy")
	n := startNotebook(t, nil)
	recording := filepath.Join(t.TempDir(), "run.arrows")
	tr := traced(t, nil, n.pid, "advise", "--record", recording)
	n.runs("import numpy as np\nraw = np.ones(24 << 20)\ntotal = raw.sum()")
	n.runs("big = np.ones(32 << 20)\nbig *= total")
	if err := tr.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	live := string(tr.output(0))
	var a model.Advice
	if err := json.Unmarshal([]byte(live), &a); err != nil || len(a.Items) == 0 {
		t.Fatalf("%v: %s\n%s", err, live, tr.stderr.String())
	}
	if one := a.Items[0]; one.Kind != "delete" || !slices.Equal(one.Names, []string{"raw"}) ||
		one.Saves>>10 != 192<<10 || one.Accuracy != model.SavesExact || !strings.Contains(one.Diff, "+del raw") {
		t.Errorf("%+v", one)
	}
	out, err := exec.Command(binary, "advise", "--quiet", "--format", "json", recording).Output()
	if err != nil || string(out) != live {
		t.Errorf("%v\nof the kernel:\n%s\nof the recording:\n%s", err, live, out)
	}
}

// unwrapped returns a text without its breaks: they depend on the width.
func unwrapped(text string) string { return strings.Join(strings.Fields(text), " ") }
