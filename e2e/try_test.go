package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
	"ipytracer/report"
)

// notebookFile writes a notebook with these cells into a folder.
func notebookFile(t *testing.T, folder, name string, cells ...string) string {
	t.Helper()
	var all []string
	for _, c := range cells {
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf(
			`{"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": %s}`, text))
	}
	path := filepath.Join(folder, name)
	whole := `{"cells": [` + strings.Join(all, ",\n") + `], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`
	if err := os.WriteFile(path, []byte(whole), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// try runs `tracer try` as a user who has typed sudo, and returns its result, its status and its messages.
func try(t *testing.T, args ...string) (*model.Trial, int, string) {
	t.Helper()
	return tryIn(t, os.TempDir(), args...)
}

// tryIn is try with another folder for temporary files.
func tryIn(t *testing.T, temporary string, args ...string) (*model.Trial, int, string) {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"try", "--format", "json", "--python", python()}, args...)...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SUDO_UID=%d", nobody), fmt.Sprintf("SUDO_GID=%d", nobody),
		"TMPDIR="+temporary)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		return nil, cmd.ProcessState.ExitCode(), errs.String()
	}
	if err := reporttest.CheckTrial(out); err != nil {
		t.Errorf("the result does not follow its schema: %v", err)
	}
	var r model.Trial
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	return &r, cmd.ProcessState.ExitCode(), errs.String()
}

// TestTry: a change that lets go of an array saves the array's bytes and changes no result. What is random is not held
// against it. The notebook runs as the user who typed sudo, and nothing is written but the file that was named.
func TestTry(t *testing.T) {
	together(t)
	const bytes = 32_000_000 // of raw
	dir := nobodysFolder(t)
	cells := []string{
		"import os, numpy as np, pandas as pd\nraw = np.ones(4_000_000)\n" +
			"total = raw.sum()\nassert os.getuid() == 65534",
		"np.random.rand(3)",
		"frame = pd.DataFrame({'n': np.arange(5), 's': list('abcde')})\n" +
			"some = {'x': [1.5, 2.5], 'y': {frame.shape}}\nframe",
		"y = np.zeros(4_000_000) + total\nprint(y.sum(), object())",
	}
	path := notebookFile(t, dir, "a.ipynb", cells...)
	patch := filepath.Join(dir, "smaller.diff")
	diff := "--- In[1]\n+++ In[1]\n@@ -3,1 +3,2 @@\n total = raw.sum()\n+del raw\n"
	if err := os.WriteFile(patch, []byte(diff), 0o644); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	r, status, errs := try(t, path, "--patch", patch, "-o", filepath.Join(dir, "smaller.ipynb"))
	if status != 0 {
		t.Fatalf("status %d\n%s", status, errs)
	}
	v := r.Variants[0]
	checkSaved(t, &v, bytes)
	if len(r.Unstable) != 1 || r.Unstable[0].Cell != 2 || !slices.Equal(r.Order, []int{0, 1, 1, 0}) {
		t.Errorf("unstable %+v, order %v", r.Unstable, r.Order)
	}
	if !strings.Contains(errs, "4 cells of a.ipynb 2 times as it is") ||
		!strings.Contains(errs, "as user nobody in "+dir) {
		t.Errorf("what runs is not said:\n%s", errs)
	}
	after, err := os.ReadDir(dir)
	if err != nil || len(after) != len(before)+1 {
		t.Errorf("%d files became %d", len(before), len(after))
	}
	made, err := os.ReadFile(filepath.Join(dir, "smaller.ipynb"))
	if err != nil || !strings.Contains(string(made), `total = raw.sum()\ndel raw\nassert`) {
		t.Errorf("%v\n%s", err, made)
	}
}

// checkSaved checks that a change saves an array of some bytes: by NumPy's meter to the byte, and by resident memory
// with at most 2 MiB less or 1 MiB more.
func checkSaved(t *testing.T, v *model.TrialVariant, bytes int64) {
	t.Helper()
	if !v.Passed || len(v.Cells) != 4 {
		t.Errorf("%+v", v)
	}
	if s := v.Saved[0]; s.Meter != "cpu.resident" || !s.Exact || s.Certain > bytes+1<<20 || s.Certain < bytes-2<<20 {
		t.Errorf("%+v, not about %d", s, bytes)
	}
	at := slices.IndexFunc(v.Saved, func(s model.TrialSaving) bool { return s.Meter == "cpu.numpy" })
	if at < 0 || v.Saved[at].Certain != bytes || v.Saved[at].Median != bytes {
		t.Errorf("%+v, not %d", v.Saved, bytes)
	}
}

// TestTrySeesChanges: a result that a change alters is named, an output or a variable, and --strict fails. A process
// that the notebook leaves behind is ended.
func TestTrySeesChanges(t *testing.T) {
	together(t)
	dir := nobodysFolder(t)
	left := filepath.Join(dir, "left")
	fork := "import os, time\nif os.fork() == 0:\n    os.setsid()\n    open('" + left +
		"', 'w').write(str(os.getpid()))\n    time.sleep(100000)\nwhile not os.path.exists('" + left + "'): pass"
	path := notebookFile(t, dir, "a.ipynb", "import numpy as np\na = np.arange(100_000) / 3\na.sum()", fork)
	other := notebookFile(t, dir, "b.ipynb",
		"import numpy as np\na = np.arange(100_000) / 3\na[77_777] += 1e-3\na.sum()", fork)
	r, status, errs := try(t, path, "--with", other, "-n", "1", "--strict", "--rtol", "1e-14")
	if status != 4 || r == nil {
		t.Fatalf("status %d\n%s", status, errs)
	}
	var seen []string
	for _, d := range r.Variants[0].Differences {
		if !d.Tolerated {
			seen = append(seen, fmt.Sprint(d.Cell, d.Variable))
		}
	}
	if r.Variants[0].Passed || !slices.Equal(seen, []string{"1", "0a"}) {
		t.Errorf("%+v", r.Variants[0].Differences)
	}
	text, err := os.ReadFile(left)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/" + string(text)); err == nil {
		t.Errorf("process %s of the notebook's is still there", text)
	}
}

// TestTryAdvice: the advice for a notebook is made from its first run, and saves what was predicted. Of the recording
// nothing is left.
func TestTryAdvice(t *testing.T) {
	together(t)
	dir := nobodysFolder(t)
	path := notebookFile(t, dir, "a.ipynb", "import numpy as np\nraw = np.ones(20_000_000)", "total = raw.sum()",
		"y = np.zeros(20_000_000) + total\ny.sum()")
	temporary := nobodysFolder(t)
	r, status, errs := tryIn(t, temporary, path, "--advice", "1", "-n", "1")
	if status != 0 {
		t.Fatalf("status %d\n%s", status, errs)
	}
	v := r.Variants[0]
	if !v.Passed || v.Predicted == nil || !strings.Contains(v.Diff, "+del raw") || !slices.Equal(r.Order, []int{0, 1}) {
		t.Fatalf("%+v", v)
	}
	if s := v.Saved[0]; s.Meter != r.Meter || s.Certain < *v.Predicted*19/20 || s.Certain > *v.Predicted*21/20 {
		t.Errorf("predicted %d, saved %+v", *v.Predicted, s)
	}
	if left, err := filepath.Glob(filepath.Join(temporary, "tracer-try-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestTryAdviceOfContents: advice that rests on the contents of a variable is there, too, because the kernel lives
// until its variables have been looked at.
func TestTryAdviceOfContents(t *testing.T) {
	together(t)
	path := notebookFile(t, nobodysFolder(t), "a.ipynb", "import numpy as np\nrng = np.random.default_rng(6)",
		"masks = rng.integers(0, 21, size=8_000_000)", "sky = (masks == 3).mean()\nother = np.ones(9_000_000)",
		"print(sky, other[:3], (masks == 4).sum())")
	r, status, errs := try(t, path, "--all", "-n", "1")
	if status != 0 {
		t.Fatalf("status %d\n%s", status, errs)
	}
	v := r.Variants[0]
	if !v.Passed || !strings.Contains(v.Diff, "+masks = rng.integers(0, 21, size=8_000_000).astype(np.int8)") {
		t.Fatalf("%+v", v)
	}
	if s := v.Saved[0]; s.Certain < *v.Predicted-2<<20 || s.Certain > *v.Predicted+2<<20 {
		t.Errorf("predicted %d, saved %+v", *v.Predicted, s)
	}
}

// TestTryAll: two pieces of advice are tried alone and, as both pass, together, which saves more than each. A third
// one, which makes an output differ, is not with them. The advice comes from a recording of a session that ran one cell
// twice, so that its numbers are not those of the notebook's cells.
func TestTryAll(t *testing.T) {
	together(t)
	dir := nobodysFolder(t)
	cells := []string{"import numpy as np\nraw = np.ones(20_000_000)", "total = raw.sum()",
		"big = np.ones(15_000_000)", "less = big.sum()", "y = np.zeros(20_000_000) + total + less\ny.sum()"}
	path := notebookFile(t, dir, "a.ipynb", cells...)
	n := startNotebook(t, nil)
	recording := filepath.Join(t.TempDir(), "run.arrows")
	tr := attach(t, n.pid, "--record", recording)
	n.runs("1 + 1")
	for _, cell := range cells {
		n.runs(cell)
	}
	tr.stop()
	out, err := exec.Command(binary, "advise", "--quiet", "--format", "json", recording).Output()
	var a model.Advice
	err = errors.Join(err, json.Unmarshal(out, &a))
	a.Items = slices.DeleteFunc(a.Items, func(i model.AdviceItem) bool { return i.Kind != "delete" })
	if err != nil || len(a.Items) != 2 {
		t.Fatalf("%v: %s", err, out)
	}
	a.Items[0].Number, a.Items[1].Number = 1, 2
	wrong := a.Items[0]
	wrong.Number, wrong.Edits = 3, slices.Clone(wrong.Edits)
	wrong.Edits[0].Text += "; total = 3"
	a.Items = append(a.Items, wrong)
	from := filepath.Join(dir, "advice.json")
	if out, err = json.Marshal(a); err == nil {
		err = os.WriteFile(from, out, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	r, status, errs := try(t, path, "--all", "--advice-from", from, "-n", "1")
	if status != 0 || len(r.Variants) != 4 {
		t.Fatalf("status %d, %+v\n%s", status, r, errs)
	}
	last := r.Variants[3]
	if last.Name != "advice 1 and 2" || !last.Passed || r.Variants[2].Passed {
		t.Errorf("%s, passed %v; the wrong one passed: %v", last.Name, last.Passed, r.Variants[2].Passed)
	}
	for _, v := range r.Variants[:2] {
		if !v.Passed || last.Saved[0].Certain < v.Saved[0].Certain+100_000_000 {
			t.Errorf("%s saves %d, both together %d", v.Name, v.Saved[0].Certain, last.Saved[0].Certain)
		}
	}
}

// TestTryRefuses: the notebook's code never runs as root, and a notebook or patch that makes no sense is refused before
// anything runs.
func TestTryRefuses(t *testing.T) {
	together(t)
	dir := nobodysFolder(t)
	path := notebookFile(t, dir, "a.ipynb", "open('"+dir+"/ran', 'w')")
	cmd := exec.Command(binary, "try", path, "--with", path)
	cmd.Env = append(os.Environ(), "SUDO_UID=", "SUDO_GID=")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "--user NAME") {
		t.Errorf("as root: %v\n%s", err, out)
	}
	cmd = exec.Command(binary, "try", path, "--with", path, "--user", "root")
	cmd.Env = append(os.Environ(), "SUDO_UID=", "SUDO_GID=")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "is root") {
		t.Errorf("as root, by name: %v\n%s", err, out)
	}
	for want, args := range map[string][]string{
		"one of --patch": {path}, "changes no code": {path, "--with", path}, "no unified diff": {path, "--patch", path},
		"is not the output of": {path, "--all", "--advice-from", path},
		"permission denied":    {"/etc/shadow", "--with", path},
	} {
		if r, status, errs := try(t, args...); status == 0 || r != nil || !strings.Contains(errs, want) {
			t.Errorf("%q: status %d\n%s", args, status, errs)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("it ran")
	}
}

// TestRunDetaches: SIGUSR1 ends the session of a command. The report has the variables of the kernel that runs, and the
// command goes on to its end, with its own exit status.
func TestRunDetaches(t *testing.T) {
	together(t)
	dir := t.TempDir()
	ready, out, ended := filepath.Join(dir, "ready"), filepath.Join(dir, "out"), filepath.Join(dir, "ended")
	code := "from IPython.core.interactiveshell import InteractiveShell\nimport os, time\n" +
		"s = InteractiveShell.instance()\ns.run_cell('kept = bytearray(9 << 20)')\n" +
		"open('" + ready + "', 'w').close()\n" +
		"while not os.path.exists('" + ended + "'): time.sleep(0.05)\nos._exit(7)"
	cmd := exec.Command(binary, "run", "--quiet", "--format", "json", "-o", out, "--", python(), "-c", code)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the cell has run", func() bool { _, err := os.Stat(ready); return err == nil })
	if err := cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	var r *model.Report
	until(t, "there is a report", func() bool {
		text, err := os.ReadFile(out)
		if err == nil {
			r, err = report.ReadJSON(text)
		}
		return err == nil
	})
	if !slices.ContainsFunc(r.Variables, func(v model.Variable) bool { return v.Name == "kept" && v.Bytes > 9<<20 }) {
		t.Errorf("variables: %+v", r.Variables)
	}
	if err := os.WriteFile(ended, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if status := exitStatus(t, cmd.Wait()); status != 7 {
		t.Errorf("exit status %d, want 7", status)
	}
}
