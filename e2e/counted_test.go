package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// TestCountedInProcess: beside a tracer, small arrays are counted in the page that the tracer gives, without a hit for
// each block, and larger ones by the probes in NumPy. The figures are equal to the byte to the sizes that Python says.
func TestCountedInProcess(t *testing.T) {
	together(t)
	env, told := companionAt(t, "/")
	buildCounts(t, filepath.Join(filepath.Dir(told), "ipytracer/counts"))
	n := startNotebook(t, env)
	for _, cell := range []string{"import json, os, threading\nimport numpy as np\nkept = []\nnp.ones(3000)",
		"%load_ext ipytracer"} {
		n.run(cell)
	}
	tr := attach(t, n.pid, "--budget", "off")
	shareCounts(t, n, told)
	const small, large = 2000 * 8, 1 << 23
	cells := []struct {
		source    string
		peak, end int64 // beyond the start
	}{
		{"a = [np.empty(2000) for _ in range(1000)]", 1000 * small, 1000 * small},
		{"for _ in range(5000): np.empty(2000)", small, 0},
		{"b = np.empty(1 << 20)", large, large},
		{"c = np.empty(1 << 20); c = np.empty(100); c = None", large + 800, 0},
		{"d = np.empty(2000); e = np.empty(1 << 20); del d; f = np.empty(100)", small + large, large + 800},
		{"a.clear()", 0, -1000 * small},
		{"g = np.empty(5); g.resize(100_000, refcheck=False)", 800_000, 800_000},
		{"g.resize(10, refcheck=False)", 0, 80 - 800_000},
		{"h = np.zeros(50); h.resize(60, refcheck=False)", 480, 480},
		{"t = threading.Thread(target=lambda: kept.append(np.empty(3000))); t.start(); t.join()", 24_000, 24_000},
		{"b = e = f = g = h = None; kept.clear()", 0, -2*large - 800 - 80 - 480 - 24_000},
		{"import multiprocessing as mp\np = mp.get_context('fork').Process(target=lambda: [np.empty(2000) for _ in " +
			"range(100)]); p.start(); p.join()", 0, 0},
		{"pass", 0, 0},
	}
	for _, c := range cells {
		n.run(c.source)
	}
	r, _ := tr.stop()
	windows := topCells(r, n.pid)
	windows = windows[len(windows)-len(cells):]
	for i, c := range cells {
		got := windows[i].Meters["cpu.numpy"]
		if got.Peak-got.Start != c.peak || got.End-got.Start != c.end || !got.Exact ||
			got.Accuracy != model.CountedInProcess {
			t.Errorf("%s: %+v, want a peak of %d and %d at the end", c.source, got, c.peak, c.end)
		}
	}
	// As elsewhere, NumPy's arrays are not seen in a child that runs no cells.
	if f := windows[len(cells)-2].Tree["cpu.numpy"]; f.Exact {
		t.Errorf("in a forked child: %+v", f)
	}
	if !slices.Contains(r.Certificate.Attribution.Incomplete, words.ArraysCounted) {
		t.Errorf("the certificate does not name it: %v", r.Certificate.Attribution.Incomplete)
	}
}

// shareCounts has a notebook count small arrays itself beside a tracer. told is the path of a file for its answers.
func shareCounts(t *testing.T, n *notebook, told string) {
	t.Helper()
	n.run("%tracer counts on")
	n.run("import json, os; from ipytracer._counts import COUNTS")
	var state [3]any
	for range 50 { // until the probes in NumPy count alone
		n.run("json.dump([COUNTS.shared, COUNTS.rests, COUNTS.refusal], open(os.environ['TOLD'], 'w'))")
		data, err := os.ReadFile(told)
		if err == nil {
			err = json.Unmarshal(data, &state)
		}
		if err != nil {
			t.Fatal(err)
		}
		if state[0] == true {
			break
		}
		n.run("import time; time.sleep(0.1)")
	}
	if state[0] != true {
		t.Fatalf("not counted in the tracer's page: %v", state)
	}
}

// TestCountedTracerDies: where the tracer is killed, the process counts on by itself, and the next tracer's figures are
// exact.
func TestCountedTracerDies(t *testing.T) {
	together(t)
	env, told := companionAt(t, "/")
	buildCounts(t, filepath.Join(filepath.Dir(told), "ipytracer/counts"))
	n := startNotebook(t, env)
	n.run("import numpy as np\nold = np.empty(3000)")
	n.run("%load_ext ipytracer")
	tr := attach(t, n.pid, "--budget", "off")
	shareCounts(t, n, told)
	n.run("a = [np.empty(2000) for _ in range(100)]; b = np.empty(1 << 20)")
	if err := tr.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-tr.ended
	n.run("c = [np.empty(2000) for _ in range(100)]; b.resize(5, refcheck=False); del a[::2]")
	n.run("del b; c.clear(); taken = COUNTS.take()")
	n.run("json.dump([COUNTS.shared, taken], open(os.environ['TOLD'], 'w'))")
	var state [2]any
	data, err := os.ReadFile(told)
	if err == nil {
		err = json.Unmarshal(data, &state)
	}
	if taken, ok := state[1].([]any); err != nil || state[0] != false || !ok || taken[0] != float64(50*16_000) {
		t.Errorf("counted alone: %v, %s", err, data)
	}
	tr = attach(t, n.pid, "--budget", "off")
	n.run("pass")
	n.run("d = [np.empty(2000) for _ in range(100)]; e = np.empty(1 << 20)")
	n.run("a.clear(); d.clear(); del e")
	r, _ := tr.stop()
	windows := topCells(r, n.pid)
	got := windows[len(windows)-2].Meters["cpu.numpy"]
	if want := int64(100*16_000 + 1<<23); got.Peak-got.Start != want || got.End-got.Start != want {
		t.Errorf("with the next tracer: %+v, want %d more", got, want)
	}
	if last := windows[len(windows)-1].Meters["cpu.numpy"]; last.End < 0 {
		t.Errorf("more is freed than was made: %+v", last)
	}
}

// TestCountedSamples: in a storm the process lends samples of small arrays, whose lines stand for all: the sum of a
// line's estimates is within five of the standard errors that the report says.
func TestCountedSamples(t *testing.T) {
	together(t)
	env, told := companionAt(t, "/")
	buildCounts(t, filepath.Join(filepath.Dir(told), "ipytracer/counts"))
	n := startNotebook(t, env)
	n.run("import json, os\nimport numpy as np\nnp.ones(3000)")
	n.run("%load_ext ipytracer")
	tr := attach(t, n.pid)
	shareCounts(t, n, told)
	n.run("def few(): return np.empty(1000)\ndef many(): return np.empty(2000)")
	checkSamples(t, n, tr, "cpu.numpy", "one = np.empty(1500)")
}

// checkSamples runs a storm of blocks by the functions few, of 8,000 bytes, and many, of 16,000, and a cell with a
// single block, ends the tracer, and compares what the lines say with what was made.
func checkSamples(t *testing.T, n *notebook, tr *trace, meter, one string) {
	t.Helper()
	n.run("kept = []\nfor i in range(40_000):\n    kept += many(), many(), few()")
	n.run("del kept[::2]")
	n.run(one)
	r, _ := tr.stop()
	windows := topCells(r, n.pid)
	storm, half, single := windows[len(windows)-3], windows[len(windows)-2], windows[len(windows)-1]
	made := map[string]int64{"few": 40_000 * 8_000, "many": 80_000 * 16_000}
	if f := storm.Meters[meter]; f.Peak-f.Start != made["few"]+made["many"] || !f.Exact {
		t.Errorf("the storm: %+v", f)
	}
	cover := storm.Coverage[meter]
	for function, bytes := range made {
		var found, freed int64
		for _, w := range []model.Window{storm, half} {
			for i := range w.Allocations {
				a := &w.Allocations[i]
				if a.Meter == meter && len(a.Stack) > 1 && a.Stack[0].Function == function {
					found, freed = found+a.Allocated, freed+a.Freed
				}
			}
		}
		t.Logf("%s: %d of %d, %d freed, ± %d", function, found, bytes, freed, cover.SampledError)
		if off := abs(found - bytes); off > 5*cover.SampledError || cover.SampledError == 0 {
			t.Errorf("%s made %d, the lines say %d, ± %d", function, bytes, found, cover.SampledError)
		}
		if off := abs(freed - bytes/2); off > 5*cover.SampledError {
			t.Errorf("%s: half of %d is freed, the lines say %d, ± %d", function, bytes, freed, cover.SampledError)
		}
	}
	if cover.SampledError > made["few"] {
		t.Errorf("a standard error of %d says nothing", cover.SampledError)
	}
	isOfMeter := func(a model.Allocation) bool { return a.Meter == meter }
	if !slices.ContainsFunc(single.Allocations, isOfMeter) {
		t.Error("a single block has no line")
	}
}

func abs(n int64) int64 { return max(n, -n) }

// TestCountedInStorm: once there are too many small arrays for the overhead budget, the process counts them itself,
// unless the user does not allow it. Then even a storm for which the meter would be paused has exact figures.
func TestCountedInStorm(t *testing.T) {
	together(t)
	for _, allowed := range []bool{true, false} {
		t.Run(fmt.Sprint(allowed), func(t *testing.T) {
			env, told := companionAt(t, "/")
			buildCounts(t, filepath.Join(filepath.Dir(told), "ipytracer/counts"))
			if !allowed {
				env = append(env, "IPYTRACER_COUNTS=off")
			}
			n := startNotebook(t, env)
			n.run("import json, os\nimport numpy as np\nnp.ones(3000)")
			n.run("%load_ext ipytracer")
			tr := attach(t, n.pid)
			const storm = "for _ in range(%d): np.empty(2000)"
			shown := ""
			for i := 0; i < 100 && !strings.Contains(shown, "a cell made more small arrays"); i++ { // or as it ended
				shown += n.run(fmt.Sprintf(storm, 12_000*max(0, 1-i)))
			}
			n.run(fmt.Sprintf(storm, 400_000))
			r, _ := tr.stop()
			windows := topCells(r, n.pid)
			last := windows[len(windows)-1].Meters["cpu.numpy"]
			if begins := strings.Contains(shown, "a cell made more small arrays"); begins != allowed {
				t.Errorf("the notebook shows %q", shown)
			}
			if counted := last.Accuracy == model.CountedInProcess; counted != allowed || last.Exact != allowed {
				t.Errorf("the great storm: %+v", last)
			}
			if last.Peak-last.Start != 16_000 {
				t.Errorf("the great storm: %+v", last)
			}
		})
	}
}
