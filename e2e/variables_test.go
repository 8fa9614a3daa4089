package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"ipytracer/model"
)

// wantedVariable has the facts that a cell states of a variable that it made.
type wantedVariable struct {
	Bytes, Near int64
	Type, DType string
	Shape       []int64
	Length      *int64
	Also        []string
}

// TestVariables compares a report's named objects with those that the cells have made, and the memory that a deletion
// gives back with that of a real deletion.
func TestVariables(t *testing.T) {
	together(t)
	onPythons(t, "run_variables.py", [][2]string{
		{"bullseye", "/usr/bin/python3.9"}, {"trixie", "/usr/bin/python3.13"}, {"sid", "/usr/bin/python3.14"},
	}, checkVariables)
}

// constant checks the facts about an array of ones.
func constant(t *testing.T, v model.Variable) {
	t.Helper()
	if c := v.Contents; c == nil || c.Distinct != 1 || c.Elements == 0 || c.Seen != c.Elements || c.Min != "1" {
		t.Errorf("%s: %+v", v.Name, c)
	}
}

func checkVariables(t *testing.T, p place) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.arrows")
	_, results, r := tracedWorkload(t, p, "--budget", "off", "--record", file)
	found := map[string]model.Variable{}
	for _, v := range r.Variables {
		found[v.Name] = v
	}
	said := results[len(results)-1]
	if len(said.Wanted) < 25 || len(said.Dropped) < 5 {
		t.Fatalf("the workload tells of %d variables, and what became of %d", len(said.Wanted), len(said.Dropped))
	}
	for name, want := range said.Wanted {
		sameVariable(t, name, found[name], want)
	}
	for name, dropped := range said.Dropped {
		const slack = 3 << 20 // pages that contain other objects, too, and arenas that are not empty
		if v := found[name]; v.Bytes < dropped-slack || v.Bytes > dropped+slack || !v.Exact {
			t.Errorf("%s: %+v; one like it gave %d bytes back", name, v, dropped)
		}
	}
	byCell := map[string]int{}
	for i, one := range results {
		byCell[one.Name] = i + 1
	}
	made := func(name, cell string, line int) {
		if v := found[name]; v.Execution != byCell[cell] || v.Line != line || v.Before || len(v.Stack) == 0 {
			t.Errorf("%s: %+v, want cell %d line %d", name, v, byCell[cell], line)
		}
	}
	made("fresh_array", "array", 1)
	made("second_line", "lines", 2)
	made("both", "kept", 1)
	for _, name := range []string{"early", "grid", "text", "fresh_array", "long_ago", "second_line"} {
		if before := name == "early" || name == "grid" || name == "text"; found[name].Before != before {
			t.Errorf("%s: made before the attach is %v", name, found[name].Before)
		}
	}
	if v := found["library.cache"]; v.Bytes < 8_000_000 || v.Bytes > 9<<20 || v.Kind != "module" {
		t.Errorf("library.cache: %+v", v)
	}
	constant(t, found["fresh_array"])
	// IPython's objects for displaying it refer to its frames until the garbage collector runs.
	failed := fmt.Sprintf("traceback of In[%d]", *results[byCell["failing"]-1].ExecutionCount)
	if v := found[failed]; v.Reaches < 8_800_000 || v.Kind != "traceback" {
		t.Errorf("%s: %+v", failed, v)
	}
	if v := found["both"]; v.Bytes < 10_000_000 || len(v.Also) != 1 || v.Also[0][:4] != "Out[" {
		t.Errorf("both: %+v", v)
	}
	other := func(v model.Variable) bool { return v.Kind != "output" || v.Bytes < 1<<20 }
	outputs := slices.DeleteFunc(slices.Clone(r.Variables), other)
	if len(outputs) != 1 || outputs[0].Bytes < 12_000_000 || outputs[0].Execution != byCell["shown"] {
		t.Errorf("outputs: %+v", outputs)
	}
	checkResident(t, r)
	if len(r.Names) != 1 || !r.Names[0].Complete || r.Names[0].Objects < 100<<20 {
		t.Errorf("names: %+v", r.Names)
	}
}

// checkResident checks that the parts add up to the kernel's counters, and that the memory of the cells is in the right
// parts.
func checkResident(t *testing.T, r *model.Report) {
	t.Helper()
	if len(r.Resident) != 1 || !r.Resident[0].Complete {
		t.Fatalf("resident: %+v", r.Resident)
	}
	parts, sum := map[string]int64{}, int64(0)
	for _, p := range r.Resident[0].Parts {
		parts[p.Kind] = p.Bytes
		sum += p.Bytes
	}
	const slack = 12 << 20 // pages of files, loaded while the objects were read
	counted := r.Processes[0].Meters["cpu.resident"].End
	if total := r.Resident[0].Total; sum != total || total < counted-slack || total > counted+slack {
		t.Errorf("%d bytes in parts of %d, the counters say %d: %+v", sum, total, counted, r.Resident[0])
	}
	// Arrays, texts and tables of 200 MB, which malloc maps or has in its heap; objects of 120 MB and more.
	if parts["malloc"]+parts["malloc-big"] < 200_000_000 || parts["objects"] < 120_000_000 || parts["files"] < 8<<20 ||
		parts["other"] > sum/20 {
		t.Errorf("%+v", r.Resident[0])
	}
}

func sameVariable(t *testing.T, name string, got model.Variable, want wantedVariable) {
	t.Helper()
	if got.Bytes < want.Bytes-want.Near || got.Bytes > want.Bytes+want.Near || got.Kind != "variable" || !got.Exact {
		t.Errorf("%s: %+v, want %d bytes", name, got, want.Bytes)
	}
	if want.Type != "" && got.Type != want.Type || want.DType != "" && got.DType != want.DType ||
		want.Shape != nil && !slices.Equal(got.Shape, want.Shape) {
		t.Errorf("%s: %+v, want %+v", name, got, want)
	}
	if want.Length != nil && (got.Length == nil || *got.Length != *want.Length) ||
		want.Also != nil && !slices.Equal(got.Also, want.Also) {
		t.Errorf("%s: %+v, want %+v", name, got, want)
	}
}
