package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
)

// TestDiffAndPlan records two versions of a notebook: the comparison names the edited cell as the cause, the plan the
// cell that decides, and the statuses are those of the contract.
func TestDiffAndPlan(t *testing.T) {
	together(t)
	needModules(t, "nbconvert", "nbclient")
	before := []string{"import numpy as np", "keep = np.ones(2_000_000)", "def total(x):\n    return (x * 2).sum()",
		"total(np.ones(8_000_000))"}
	after := slices.Clone(before)
	after[1] = "keep = np.ones(22_000_000)  # ten times as much"
	a, b := recordNotebook(t, before), recordNotebook(t, after)

	d := diffOf(t, a, b)
	if len(d.Causes) != 1 || !d.Causes[0].Edited || d.Cells[d.Causes[0].Cell].Change != model.Edited {
		t.Fatalf("causes %+v", d.Causes)
	}
	const grew = 20_000_000 * 8
	edited := &d.Cells[d.Causes[0].Cell]
	if n := d.Causes[0].Bytes; d.Causes[0].Meter != "cpu.resident" || n < grew*98/100 || n > grew*102/100 {
		t.Errorf("the cause is %d bytes of %s, want about %d", n, d.Causes[0].Meter, grew)
	}
	if l := edited.Lines; len(l) == 0 || !slices.ContainsFunc(l, func(l model.LineDiff) bool {
		return l.Meter == "cpu.numpy" && l.Change == grew && l.Source == after[1] && l.Line == 1
	}) {
		t.Errorf("lines %+v", l)
	}
	last := d.Cells[len(d.Cells)-1]
	if last.Change != model.Same || !last.Consequence || last.Meters[0].Peak < grew*98/100 {
		t.Errorf("the last cell: %+v", last)
	}

	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{a, b}, 0},
		{[]string{a, b, "--fail-over", "10%"}, 5},
		{[]string{a, b, "--fail-over", "100MiB"}, 5},
		{[]string{a, b, "--fail-over", "1g"}, 0},
		{[]string{b, a, "--fail-over", "100MiB"}, 0}, // it shrank
		{[]string{a, cutShort(t, b), "--fail-over", "1g"}, 6},
		{[]string{a, b, "--fail-over", "many"}, 2},
		{[]string{a, b, "--meter", "gpu.9.active"}, 2},
		{[]string{a, b, "--format", "yaml"}, 2},
		{[]string{a, b + ".not"}, 1},
		{[]string{a}, 2},
	} {
		if got, out := status(t, append([]string{"diff", "-q"}, c.args...)...); got != c.want {
			t.Errorf("diff %q: status %d, want %d\n%.2000s", c.args, got, c.want, out)
		}
	}
	for _, format := range []string{"text", "markdown", "html"} {
		if _, out := status(t, "diff", "-q", a, b, "--format", format); !strings.Contains(out,
			"its source was edited") {
			t.Errorf("%s:\n%.2000s", format, out)
		}
	}
	checkPlan(t, a, b, after)
}

// checkPlan checks that the second of both recordings decides. The notebook runs with the plan's figure, and not with
// much less.
func checkPlan(t *testing.T, a, b string, source []string) {
	t.Helper()
	got, out := status(t, "plan", "-q", "--strict", "--format", "json", a, b)
	var p model.Plan
	if err := json.Unmarshal([]byte(out), &p); err != nil || got != 0 {
		t.Fatalf("status %d, %v\n%.2000s", got, err, out)
	}
	need := p.Demands[0]
	if need.Run != 1 || need.At == nil || !need.Exact || !strings.HasPrefix(need.At.Source, "total(") ||
		need.Need-need.Low < 140<<20 {
		t.Errorf("%+v at %+v", need, need.At)
	}
	if len(need.Lines) == 0 || !slices.ContainsFunc(need.Lines,
		func(l model.PlanLine) bool { return l.Source == source[1] && l.Resident > 150<<20 }) {
		t.Errorf("lines %+v", need.Lines)
	}
	if got, out := status(t, "plan", "-q", "--strict", cutShort(t, b)); got != 4 {
		t.Errorf("a plan of a recording that was cut: status %d\n%.2000s", got, out)
	}
	t.Run("enough", func(t *testing.T) {
		if out, err := runWithin(t, need.Limit, source); err != nil {
			t.Errorf("it does not run in the %d MiB of the plan: %v\n%.4000s", need.Limit>>20, err, out)
		}
	})
	t.Run("little", func(t *testing.T) {
		if out, err := runWithin(t, need.Need*6/10, source); err == nil {
			t.Errorf("it runs in six tenths of what it was seen to need\n%.2000s", out)
		}
	})
}

// status runs the tracer, and returns its exit status and its output.
func status(t *testing.T, args ...string) (int, string) {
	t.Helper()
	cmd := exec.Command(binary, args...)
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func diffOf(t *testing.T, a, b string) *model.Diff {
	t.Helper()
	got, out := status(t, "diff", "-q", "--min", "16MiB", "--format", "json", a, b)
	var d model.Diff
	if err := json.Unmarshal([]byte(out), &d); err != nil || got != 0 {
		t.Fatalf("status %d, %v\n%.2000s", got, err, out)
	}
	return &d
}

// cutShort returns a recording without its last third.
func cutShort(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.arrows")
	if err := os.WriteFile(cut, data[:len(data)*2/3], 0o644); err != nil {
		t.Fatal(err)
	}
	return cut
}

// converting returns the command that runs a notebook of some cells, in a folder of its own.
func converting(t *testing.T, cells []string) (dir string, args, env []string) {
	t.Helper()
	dir = t.TempDir()
	list := []map[string]any{}
	for _, source := range cells {
		list = append(list, map[string]any{"cell_type": "code", "execution_count": nil, "metadata": map[string]any{},
			"outputs": []any{}, "source": source})
	}
	data, err := json.Marshal(map[string]any{"nbformat": 4, "nbformat_minor": 4, "cells": list,
		"metadata": map[string]any{"kernelspec": map[string]any{"name": "python3", "display_name": "Python 3",
			"language": "python"}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "in.ipynb")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, []string{python(), "-m", "nbconvert", "--to", "notebook", "--execute", path, "--output", "out.ipynb"},
		append(os.Environ(), "IPYTHONDIR="+dir, "JUPYTER_RUNTIME_DIR="+dir)
}

// recordNotebook runs a notebook under the tracer, and returns the recording.
func recordNotebook(t *testing.T, cells []string) string {
	t.Helper()
	recorded := ""
	out, err := withPorts(t, func() *exec.Cmd {
		dir, args, env := converting(t, cells)
		recorded = filepath.Join(dir, "run.arrows")
		cmd := exec.Command(binary,
			append([]string{"run", "--quiet", "--budget", "off", "--record", recorded, "-o",
				filepath.Join(dir, "out.txt"), "--"}, args...)...)
		cmd.Env = env
		return cmd
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return recorded
}

// withPorts runs a command that starts kernels by jupyter_client, and returns what it says. By the time a kernel
// begins, another process may have the port that jupyter_client found free. That is no failure of the command, which
// runs again.
func withPorts(t *testing.T, command func() *exec.Cmd) ([]byte, error) {
	t.Helper()
	for tries := 1; ; tries++ {
		out, err := command().CombinedOutput()
		if err == nil || tries == 3 || !strings.Contains(string(out), "Address already in use") {
			return out, err
		}
		t.Logf("the kernel's port was taken: %.200s", err)
	}
}

// runWithin runs a notebook without the tracer, in a control group limited to a number of bytes.
func runWithin(t *testing.T, limit int64, cells []string) ([]byte, error) {
	t.Helper()
	group := memoryCgroup(t, limit)
	// One of these files exists where there is swap.
	for file, text := range map[string]string{"memory.swap.max": "0",
		"memory.memsw.limit_in_bytes": fmt.Sprint(limit)} {
		_ = os.WriteFile(filepath.Join(group, file), []byte(text), 0)
	}
	return withPorts(t, func() *exec.Cmd {
		_, args, env := converting(t, cells)
		cmd := exec.Command("sh",
			append([]string{"-c", fmt.Sprintf("echo $$ > %s && exec \"$@\"", filepath.Join(group, "cgroup.procs")),
				"sh"}, args...)...)
		cmd.Env = env
		return cmd
	})
}
