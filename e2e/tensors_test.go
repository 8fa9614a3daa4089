package e2e

import (
	"testing"

	"ipytracer/model"
)

// TestTensors compares cpu.torch with what cells know of their tensors, to the byte: training loops, views, resizing, memory
// shared with NumPy, graphs, threads, workers. PyTorch is imported by the first cell, after the attach.
func TestTensors(t *testing.T) {
	together(t)
	needModules(t, "torch")
	checkTensors(t, place{driver: "run_tensors.py"})
}

// TestNewerTensors does so on PyTorch 2.6 and Python 3.13. It is a build for CUDA, without a GPU's memory in use.
func TestNewerTensors(t *testing.T) {
	together(t)
	p := pytorch(t, "--stand-ins", torchLibraries.made(t))
	p.driver = "run_tensors.py"
	checkTensors(t, p)
}

// TestAuditTensors: planted leaks of tensors on the CPU are found, with who holds them, and nothing else is.
func TestAuditTensors(t *testing.T) {
	together(t)
	needModules(t, "torch")
	for _, list := range []string{"tensors", "healthy_tensors"} {
		t.Run(list, func(t *testing.T) {
			t.Parallel()
			checkAudit(t, place{driver: "run_leaks.py"}, []string{list})
		})
	}
}

func checkTensors(t *testing.T, p place) {
	t.Helper()
	w, results, r := tracedWorkload(t, p, "--budget", "off")
	checkCertificate(t, r)
	if len(r.Certificate.LateLibraries) > 0 {
		t.Errorf("joined late: %v", r.Certificate.LateLibraries)
	}
	windows := topCells(r, w.pid)
	if len(windows) != len(results) {
		t.Fatalf("%d windows of %d cells", len(windows), len(results))
	}
	peaks, ends, lines := 0, 0, 0
	for i, run := range results {
		truth := run.Truth["cpu.torch"]
		if truth == nil {
			continue
		}
		f := windows[i].Meters["cpu.torch"]
		ends++
		if !f.Exact || f.Consumed != truth.End-truth.Start {
			t.Errorf("%s: %+v, want it to end at %+d", run.Name, f, truth.End-truth.Start)
		}
		if truth.Peak >= 0 {
			peaks++
			if f.Need() != truth.Peak-truth.Start {
				t.Errorf("%s: %d needed, want %d", run.Name, f.Need(), truth.Peak-truth.Start)
			}
		} else if f.Peak < max(f.Start, f.End) {
			t.Errorf("%s: %+v", run.Name, f)
		}
		for _, n := range run.Noted {
			lines++
			if said := compareNoted(windows[i], n); said != "" {
				t.Errorf("%s: %s", run.Name, said)
			}
		}
		if c, there := windows[i].Coverage["cpu.torch"]; there && !c.Exact {
			t.Errorf("%s: lines do not add up: %+v", run.Name, c)
		}
		checkRefused(t, run.Name, windows[i])
	}
	if peaks < 10 || ends < 20 || lines < 10 {
		t.Errorf("%d peaks, %d ends and %d lines were compared", peaks, ends, lines)
	}
	checkSums(t, r)
}

// checkRefused wants the one request that malloc refused, and no other.
func checkRefused(t *testing.T, name string, w model.Window) {
	t.Helper()
	if name != "refused" {
		if len(w.Refused) > 0 {
			t.Errorf("%s: refused %+v", name, w.Refused)
		}
		return
	}
	asked := map[string]model.Refusal{}
	for _, r := range w.Refused {
		asked[r.Meter] = r
	}
	torch := asked["cpu.torch"]
	kernel, there := asked["cpu.mapped"] // which malloc may have asked, more than once
	if len(w.Refused) != len(asked) || torch.Asked != 1<<50 || torch.Count != 1 || there && kernel.Asked < 1<<50 || len(asked) > 2 || len(asked) == 2 && !there {
		t.Errorf("%s: %+v", name, w.Refused)
	}
}
