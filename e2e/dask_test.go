package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/model"
)

// daskReport is the report of testdata/workloads/run_dask.py.
type daskReport struct {
	Shown    []string `json:"shown"`
	Line     string   `json:"line"`
	Died     bool     `json:"died"`
	Failed   string   `json:"failed"`
	Missing  int      `json:"missing"`
	Together int64    `json:"together"`
	Silent   []string `json:"silent"`
	Tasks    []struct {
		Worker string         `json:"worker"`
		Prefix string         `json:"prefix"`
		Cell   string         `json:"cell"`
		Count  int            `json:"count"`
		Window map[string]any `json:"window"`
	} `json:"tasks"`
}

// TestDask runs tasks on four real Dask workers, each with two threads, under one tracer. Each task is a window with
// its prefix and its cell, and of known memory. The notebook's figures are those of the report, to the byte.
func TestDask(t *testing.T) {
	together(t)
	env, _ := companionAt(t, "/")
	companion := filepath.Join(strings.TrimPrefix(env[0], "PYTHONPATH="), "ipytracer")
	waitsLonger(t, filepath.Join(companion, "_dask_figures.py"), "_TO_ANSWER = 0.5", "30.0")
	waitsLonger(t, filepath.Join(companion, "dask.py"), "_BEHIND_CELL = 2.0", "100.0")
	in, next := startDask(t, env)
	var pids []int
	next(&pids)
	if len(pids) != 4 {
		t.Fatalf("workers: %v", pids)
	}
	tr := attach(t, pids[0], fmt.Sprint(pids[1]), fmt.Sprint(pids[2]), fmt.Sprint(pids[3]))
	if _, err := fmt.Fprintln(in); err != nil {
		t.Fatal(err)
	}
	var found daskReport
	next(&found)
	r, _ := tr.stop()
	if found.Missing != 0 || len(found.Silent) != 0 || !found.Died ||
		!strings.HasPrefix(found.Failed, "after 31457280 ") {
		t.Errorf("report: %+v", found)
	}
	if !strings.Contains(fmt.Sprint(found.Shown), "dask on 4 workers: highest ") {
		t.Errorf("below the cell: %q", found.Shown)
	}
	for _, task := range found.Tasks {
		sameWindow(t, task.Window, r)
		if task.Cell != "In[2]" && task.Prefix != "Counter.add" || task.Count < 1 {
			t.Errorf("task: %+v", task)
		}
	}
	var highest, all int64
	for _, w := range r.Windows {
		if w.Kind == model.Session {
			peak := w.Meters["cpu.resident"].Peak
			highest, all = max(highest, peak), all+peak
		}
	}
	if found.Together <= highest || found.Together > all {
		t.Errorf("together %d: the highest worker has %d, all have %d", found.Together, highest, all)
	}
	knownTasks(t, r)
}

// startDask starts the workload. in lets its tasks run, and next reads its next line.
func startDask(t *testing.T, env []string) (in io.Writer, next func(into any)) {
	t.Helper()
	cmd := exec.Command(python(), workloads+"/run_dask.py")
	cmd.Env = append(append(os.Environ(), env...), "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED=critical")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	lines := bufio.NewReader(stdout)
	return stdin, func(into any) {
		line, err := lines.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, into)
		}
		if err != nil {
			t.Fatal("run_dask.py: ", err)
		}
	}
}

// knownTasks compares the windows of the tasks with the memory that they are known to take.
func knownTasks(t *testing.T, r *model.Report) {
	t.Helper()
	needs, statuses := map[string][]int64{}, map[string]string{}
	for _, w := range r.Windows {
		if w.Kind != model.Experiment {
			continue
		}
		f := w.Meters["cpu.numpy"]
		if !f.Exact {
			t.Errorf("%s is not exact", w.Name)
		}
		// Dask's own threads may make a small array meanwhile.
		need := (f.Peak - f.Start) >> 20
		if rest := f.Peak - f.Start - need<<20; strings.HasPrefix(w.Name, "dask:") && rest > 64<<10 {
			t.Errorf("%s needs %d bytes", w.Name, f.Peak-f.Start)
		}
		needs[w.Name] = append(needs[w.Name], need)
		statuses[w.Name] = w.Status
	}
	for name, want := range map[string][]int64{
		"dask:alone In[2]": {8, 9, 10, 11}, "dask:fails In[2]": {30}, "dask:second In[2]": {31, 31},
		"dask:awaits In[2]": {32}, "dask:Counter.add": {33}, "dask:inner In[2]": {34}, "dask:dies In[3]": {40},
	} {
		got := map[int64]int{}
		for _, n := range needs[name] {
			got[n]++
		}
		for _, n := range want {
			got[n]--
		}
		for n, count := range got {
			if count != 0 {
				t.Errorf("%s: needs %v, want %v MiB: %d of %d", name, needs[name], want, count, n)
			}
		}
		if ok := statuses[name] == model.OK; ok != (name != "dask:dies In[3]") {
			t.Errorf("%s: status %s", name, statuses[name])
		}
	}
	pairs := append(needs["dask:pair In[2]"], needs["dask:pair In[2] #2"]...)
	if len(pairs) != 2 || max(pairs[0], pairs[1]) != 41 {
		t.Errorf("two tasks at once: %v MiB", pairs)
	}
}
