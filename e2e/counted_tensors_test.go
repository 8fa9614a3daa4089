package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// TestCountedTensors: beside a tracer, small tensors are counted in the page that the tracer gives, without a hit for
// each block, and larger ones by the probes in PyTorch. The figures are equal to the byte to the sizes of the tensors.
func TestCountedTensors(t *testing.T) {
	together(t)
	needModules(t, "torch")
	n := startNotebook(t, countingTensors(t))
	n.run("import os, threading, torch\nkept = []\ntorch.set_num_threads(1)")
	tr := attach(t, n.pid, "--budget", "off")
	shareTensors(n)
	const small, large = 2000 * 4, 4 << 20
	cells := []struct {
		source    string
		peak, end int64 // beyond the start
	}{
		{"a = [torch.empty(2000) for _ in range(1000)]", 1000 * small, 1000 * small},
		{"for _ in range(5000): torch.empty(2000)", small, 0},
		{"b = torch.empty(1 << 20)", large, large},
		{"c = torch.empty(1 << 20); c = torch.empty(100); c = None", large + 400, 0},
		{"d = torch.empty(2000); e = torch.empty(1 << 20); del d; f = torch.empty(100)", small + large, large + 400},
		{"a.clear()", 0, -1000 * small},
		{"g = torch.empty(5); g = g.resize_(100_000)", 400_020, 400_000},
		{"h = torch.empty(0); h = f.view(10, 10)[2:]; h = f.numpy()", 0, 0},
		{"def work(): kept.append(torch.empty(3000)); [torch.empty(1000) for _ in range(1000)]\n" +
			"t = threading.Thread(target=work); t.start(); t.join()", 12_000 + 1000*4000, 12_000},
		{"x = torch.ones(64, 20, requires_grad=True); (x * 2).sum().backward()", -1, 2 * 64 * 20 * 4},
		{"from torch.profiler import profile\nwith profile(profile_memory=True): y = torch.empty(2000); del x", -1,
			small - 2*64*20*4},
		{"b = e = f = g = h = y = None; kept.clear()", 0, -2*large - 400 - 400_000 - 12_000 - small},
		{"child = os.fork()\nif not child:\n    z = [torch.empty(2000) for _ in range(100)]; os._exit(0)\n" +
			"os.waitpid(child, 0)", 0, 0},
		{"pass", 0, 0},
	}
	for _, c := range cells {
		n.all(c.source)
	}
	r, _ := tr.stop()
	windows := topCells(r, n.pid)
	windows = windows[len(windows)-len(cells):]
	for i, c := range cells {
		got := windows[i].Meters["cpu.torch"]
		if (c.peak >= 0 && got.Peak-got.Start != c.peak) || got.End-got.Start != c.end || !got.Exact ||
			got.Accuracy != model.CountedInProcess {
			t.Errorf("%s: %+v, want a peak of %d and %d at the end", c.source, got, c.peak, c.end)
		}
	}
	if !slices.Contains(r.Certificate.Attribution.Incomplete, words.TensorsCounted) {
		t.Errorf("the certificate does not name it: %v", r.Certificate.Attribution.Incomplete)
	}
}

// countingTensors is the environment of a kernel that counts small tensors itself, once PyTorch is imported.
func countingTensors(t *testing.T) []string {
	t.Helper()
	env, told := companionAt(t, "/")
	buildCounts(t, filepath.Join(filepath.Dir(told), "ipytracer/counts"))
	return append(env, "IPYTRACER_LIBRARIES="+filepath.Dir(told),
		"PYTHONSTARTUP="+filepath.Join(workloads, "counting_tensors_startup.py"))
}

// shareTensors waits until a notebook counts small tensors in a tracer's page.
func shareTensors(n *notebook) {
	n.t.Helper()
	n.run("from ipytracer._counts_torch import TENSORS")
	shown := ""
	until(n.t, "it counts in a page", func() bool {
		shown = n.run("print(TENSORS.shared, TENSORS.unable, TENSORS.refusal)")
		return strings.HasPrefix(shown, "True")
	})
}

// TestCountedTensorsTold compares cpu.torch with the cells' own figures of their tensors, to the byte, where the
// process counts the small ones.
func TestCountedTensorsTold(t *testing.T) {
	together(t)
	needModules(t, "torch")
	w, results, r := tracedWorkload(t, place{driver: "run_tensors.py", env: countingTensors(t)}, "--budget", "off")
	keepIfFailed(t, r, results)
	windows := topCells(r, w.pid)
	if len(windows) != len(results) {
		t.Fatalf("%d windows of %d cells", len(windows), len(results))
	}
	compared := 0
	for i, run := range results {
		truth, f := run.Truth["cpu.torch"], windows[i].Meters["cpu.torch"]
		if truth == nil || f.Accuracy != model.CountedInProcess {
			continue
		}
		compared++
		if !f.Exact || f.Consumed != truth.End-truth.Start || truth.Peak >= 0 && f.Need() != truth.Peak-truth.Start {
			t.Errorf("%s: %+v, want %+v", run.Name, f, truth)
		}
	}
	t.Logf("%d cells are equal to the byte", compared)
	if compared < 20 {
		t.Errorf("%d cells were compared", compared)
	}
}

// networkCells are the cells of a notebook of bench/notebooks.
func networkCells(t *testing.T, name string) (cells []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../bench/notebooks", name+".ipy"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "# %%\n")[1:]
}

// TestCountedNetworks trains small networks within the default budget. Where the process counts small tensors, at least
// 98 % of the windows are exact, and equal to the byte to those of a run whose tensors all pass the probes.
func TestCountedNetworks(t *testing.T) {
	together(t)
	needModules(t, "torch")
	exact, all := 0, 0
	for _, name := range []string{"mlp", "cnn", "bigram"} {
		cells := networkCells(t, name)
		run := func(env []string, flags ...string) []model.Window {
			n := startNotebook(t, env)
			n.all(cells[0])
			tr := attach(t, n.pid, flags...)
			if env != nil {
				shareTensors(n)
			}
			n.all(cells[1:]...)
			r, _ := tr.stop()
			windows := topCells(r, n.pid)
			return windows[len(windows)-len(cells)+1:]
		}
		truth := run(nil, "--budget", "off")
		for i, w := range run(countingTensors(t)) {
			f, want := w.Meters["cpu.torch"], truth[i].Meters["cpu.torch"]
			all++
			if f.Exact {
				exact++
			}
			if f.Peak-f.Start != want.Peak-want.Start || f.End-f.Start != want.End-want.Start ||
				f.Accuracy != model.CountedInProcess || !want.Exact {
				t.Errorf("%s, %q: counted %+v, the probes say %+v", name, w.Source, f, want)
			}
		}
	}
	t.Logf("%d of %d windows are exact", exact, all)
	if 100*exact < 98*all {
		t.Errorf("%d of %d windows are exact", exact, all)
	}
}

// TestCountedTensorsTwice: a second tracer, which has no page, does not say that it has seen all tensors: neither one
// that was attached before the first has given a page, nor one that comes later.
func TestCountedTensorsTwice(t *testing.T) {
	together(t)
	needModules(t, "torch")
	n := startNotebook(t, countingTensors(t))
	n.run("import torch")
	first := attach(t, n.pid, "--budget", "off")
	early := attach(t, n.pid, "--budget", "off")
	shareTensors(n)
	late := attach(t, n.pid, "--budget", "off")
	n.all("a = [torch.empty(2000) for _ in range(1000)]")
	n.all("b = [torch.empty(2000) for _ in range(1000)]")
	figures := map[string]model.Figure{}
	for name, tr := range map[string]*trace{"first": first, "early": early, "late": late} {
		r, _ := tr.stop()
		windows := topCells(r, n.pid)
		figures[name] = windows[len(windows)-1].Meters["cpu.torch"]
	}
	with := 0
	for name, f := range figures {
		if f.Accuracy == model.CountedInProcess { // either of those that were there may have given the page
			with++
			if !f.Exact || f.Peak-f.Start != 1000*8000 || name == "late" {
				t.Errorf("the tracer that has given the page, %s: %+v", name, f)
			}
		} else if f.Exact || f.Bound != nil {
			t.Errorf("%s tracer: %+v", name, f)
		}
	}
	if with != 1 {
		t.Errorf("%d tracers have given a page: %+v", with, figures)
	}
}

// TestCountedTensorsSamples: in a storm the process lends samples of small tensors, whose lines stand for all.
func TestCountedTensorsSamples(t *testing.T) {
	together(t)
	needModules(t, "torch")
	n := startNotebook(t, countingTensors(t))
	n.run("import torch")
	tr := attach(t, n.pid)
	shareTensors(n)
	n.run("def few(): return torch.empty(2000)\ndef many(): return torch.empty(4000)")
	checkSamples(t, n, tr, "cpu.torch", "one = torch.empty(1)")
}

// TestCountedTensorsInStorm: once there are too many small tensors for the overhead budget, the process counts them
// itself. Then even a storm for which the meter would be paused has exact figures.
func TestCountedTensorsInStorm(t *testing.T) {
	together(t)
	needModules(t, "torch")
	env, told := companionAt(t, "/")
	buildCounts(t, filepath.Join(filepath.Dir(told), "ipytracer/counts"))
	n := startNotebook(t, env)
	n.run("import torch")
	n.run("%load_ext ipytracer")
	tr := attach(t, n.pid)
	const storm = "for _ in range(%d): torch.empty(2000)"
	shown := ""
	for i := 0; i < 100 && !strings.Contains(shown, "a cell made more small arrays or tensors"); i++ {
		shown += n.run(fmt.Sprintf(storm, 12_000*max(0, 1-i)))
	}
	if !strings.Contains(shown, "a cell made more small arrays or tensors") {
		t.Errorf("the notebook shows %q", shown)
	}
	shareTensors(n)
	n.run(fmt.Sprintf(storm, 400_000))
	r, _ := tr.stop()
	windows := topCells(r, n.pid)
	last := windows[len(windows)-1].Meters["cpu.torch"]
	if last.Accuracy != model.CountedInProcess || !last.Exact || last.Peak-last.Start != 8_000 {
		t.Errorf("the great storm: %+v", last)
	}
}
