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

// TestServer attaches to a Jupyter server: the kernel that it has, one that it starts later and one that it restarts
// have their cells and lines, and the report distinguishes them.
func TestServer(t *testing.T) {
	together(t)
	needModules(t, "jupyter_server")
	w := startWorkload(t, place{driver: "run_server.py"}, nil)
	tr := attach(t, w.pid, "--budget", "off")
	results := w.run()
	r, _ := tr.stop()
	checkCertificate(t, r)
	kernels := map[string]int{}
	for _, run := range results {
		kernels[run.Name] = run.Kernel
		checkMade(t, r, run.Kernel, run.Name, run.Size)
	}
	if len(results) != 5 || countCells(r) != 5 {
		t.Errorf("%d cells ran, %d windows", len(results), countCells(r))
	}
	for name, want := range map[string]model.Process{
		"had": {Late: true}, "started": {}, "restarted": {RestartOf: kernels["had"]},
	} {
		i := slices.IndexFunc(r.Processes, func(p model.Process) bool { return p.PID == kernels[name] })
		if i < 0 {
			t.Errorf("%s: no process %d", name, kernels[name])
			continue
		}
		p := r.Processes[i]
		if p.Late != want.Late || p.RestartOf != want.RestartOf || p.Parent != w.pid || p.IPython == "" ||
			p.Ended != (name == "had") {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if p := r.Processes[0]; p.PID != w.pid || p.Parent != 0 || p.RestartOf != 0 {
		t.Errorf("the server: %+v", p)
	}
}

// TestServerAndItsKernel: a process that is traced as part of another one is not traced twice.
func TestServerAndItsKernel(t *testing.T) {
	together(t)
	needModules(t, "jupyter_server")
	w := startWorkload(t, place{driver: "run_server.py"}, nil)
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", w.pid, w.pid))
	if err != nil || len(strings.Fields(string(children))) == 0 {
		t.Fatalf("the server's children: %q, %v", children, err)
	}
	tr := attach(t, w.pid, strings.Fields(string(children))[0])
	results := w.run()
	r, _ := tr.stop()
	if countCells(r) != len(results) || r.Processes[0].PID != w.pid {
		t.Errorf("%d windows of %d cells; complete %v %q, late %q; problems %q", countCells(r), len(results),
			r.Certificate.Complete, r.Certificate.Incomplete,
			r.Certificate.LateLibraries, r.Certificate.Problems)
	}
}

func countCells(r *model.Report) (n int) {
	for _, w := range r.Windows {
		if w.Kind == model.Cell {
			n++
		}
	}
	return n
}

// checkMade checks the cell of a process in which the last line made an array of a number of bytes under a name, and
// that line.
func checkMade(t *testing.T, r *model.Report, pid int, name string, size int64) {
	t.Helper()
	i := slices.IndexFunc(r.Windows, func(w model.Window) bool {
		return w.Kind == model.Cell && w.PID == pid && strings.Contains(w.Source, "\n"+name+" = make(")
	})
	if i < 0 {
		t.Errorf("%s: no window of pid %d", name, pid)
		return
	}
	cell := r.Windows[i]
	line := slices.IndexFunc(r.Windows,
		func(w model.Window) bool { return w.Kind == model.Statement && w.Parent == cell.ID && w.Line == 4 })
	if line < 0 || r.Windows[line].Meters["cpu.numpy"].Need() != size || !r.Windows[line].Meters["cpu.numpy"].Exact ||
		!cell.Meters["cpu.numpy"].Exact {
		t.Errorf("%s: %+v", name, cell.Meters["cpu.numpy"])
	}
	made := slices.ContainsFunc(cell.Allocations, func(a model.Allocation) bool {
		n := len(a.Stack)
		return a.Meter == "cpu.numpy" && a.Allocated == size && n == 3 && a.Stack[1].Function == "make" &&
			a.Stack[1].Line == 3 && a.Stack[2].Line == 4 &&
			a.Stack[2].Execution == cell.Execution
	})
	if !made {
		t.Errorf("%s: nobody allocated %d: %+v", name, size, cell.Allocations)
	}
}

// TestRunners traces programs that run notebooks: every kernel's cells and lines are there, and the report begins with
// the kernels.
func TestRunners(t *testing.T) {
	together(t)
	needModules(t, "nbconvert", "nbclient")
	const two = `
import asyncio, sys, nbformat, nbclient
async def one(name):
    await nbclient.NotebookClient(nbformat.read(name, 4), kernel_name="python3").async_execute()
async def both():
    await asyncio.gather(*map(one, sys.argv[1:]))
asyncio.run(both())
`
	dir := t.TempDir()
	first, second := writeNotebook(t, dir, "a", 10_000_001, 20_000_001), writeNotebook(t, dir, "b", 30_000_001)
	for name, c := range map[string]struct {
		args []string
		made map[string]int64
	}{
		"nbconvert": {[]string{"-m", "nbconvert", "--to", "notebook", "--execute", first, "--output", "out.ipynb"},
			map[string]int64{"a0": 10_000_001, "a1": 20_000_001}},
		"execute": {[]string{"-c", "import nbclient.cli; nbclient.cli.main()", first},
			map[string]int64{"a0": 10_000_001, "a1": 20_000_001}},
		"two": {[]string{"-c", two, first, second},
			map[string]int64{"a0": 10_000_001, "a1": 20_000_001, "b0": 30_000_001}},
	} {
		t.Run(name, func(t *testing.T) { checkRunner(t, c.args, c.made) })
	}
}

func checkRunner(t *testing.T, args []string, made map[string]int64) {
	t.Helper()
	dir := t.TempDir()
	recorded := filepath.Join(dir, "run.arrows")
	out, err := withPorts(t, func() *exec.Cmd {
		cmd := exec.Command(binary,
			append([]string{"run", "--quiet", "--budget", "off", "--format", "json", "--record", recorded, "--force",
				"-o", filepath.Join(dir, "out.json"), "--", python()}, args...)...)
		cmd.Env = append(os.Environ(), "IPYTHONDIR="+dir, "JUPYTER_RUNTIME_DIR="+dir)
		return cmd
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r := readReport(t, filepath.Join(dir, "out.json"))
	checkCertificate(t, r)
	if got := countCells(r); got != len(made) {
		t.Errorf("%d cells, want %d", got, len(made))
	}
	kernels := map[int]bool{}
	for name, size := range made {
		i := slices.IndexFunc(r.Windows, func(w model.Window) bool {
			return w.Kind == model.Cell && strings.Contains(w.Source, "\n"+name+" = make(")
		})
		if i < 0 {
			t.Errorf("%s: no window", name)
			continue
		}
		kernels[r.Windows[i].PID] = true
		checkMade(t, r, r.Windows[i].PID, name, size)
	}
	for _, w := range r.Windows {
		for _, c := range w.Children {
			if c.PID == r.Processes[0].PID {
				t.Errorf("the parent is a child of %s %d", w.Kind, w.ID)
			}
		}
	}
	text, err := exec.Command(binary, "report", recorded).Output()
	if err != nil {
		t.Fatal(err)
	}
	for pid := range kernels {
		if !strings.Contains(string(text), fmt.Sprintf("kernel      pid %d", pid)) {
			t.Errorf("the report does not name the kernel %d:\n%.1500s", pid, text)
		}
	}
}

// writeNotebook writes a notebook with a cell for each size.
func writeNotebook(t *testing.T, dir, name string, sizes ...int64) string {
	t.Helper()
	cells := []map[string]any{}
	for i, size := range sizes {
		cells = append(cells, map[string]any{
			"cell_type": "code", "execution_count": nil, "metadata": map[string]any{}, "outputs": []any{},
			"source": fmt.Sprintf("import numpy as np\ndef make(n):\n    return np.ones(n, dtype=np.uint8)\n"+
				"%s%d = make(%d)", name, i, size),
		})
	}
	data, err := json.Marshal(map[string]any{
		"nbformat": 4, "nbformat_minor": 4, "cells": cells,
		"metadata": map[string]any{"kernelspec": map[string]any{"name": "python3", "display_name": "Python 3",
			"language": "python"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name+".ipynb")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
