package e2e

import (
	"testing"

	"ipytracer/model"
)

// TestTensors compares cpu.torch with the cells' own figures of their tensors, to the byte: training loops, views,
// resizing, memory shared with NumPy, graphs, threads, workers. PyTorch is imported by the first cell, after the
// attach.
func TestTensors(t *testing.T) {
	together(t)
	needModules(t, "torch")
	checkTensors(t, place{driver: "run_tensors.py"})
}

// TestNewerTensors does the same on PyTorch 2.6 and Python 3.13. It is a build for CUDA, without a GPU's memory in use.
func TestNewerTensors(t *testing.T) {
	together(t)
	p := pytorch(t, "--stand-ins", torchLibraries.made(t))
	p.driver = "run_tensors.py"
	checkTensors(t, p)
}

// TestAuditTensors: planted leaks of tensors on the CPU are found with their holders, and no others.
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
	checkTold(t, p, "cpu.torch", least{peaks: 10, ends: 20, lines: 10},
		func(run result, w model.Window) { checkRefused(t, run.Name, w) })
}

// checkRefused checks that the report has the one request that malloc refused, and no other.
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
	kernel, there := asked["cpu.mapped"] // malloc may have asked the kernel, more than once
	if len(w.Refused) != len(asked) || torch.Asked != 1<<50 || torch.Count != 1 || there && kernel.Asked < 1<<50 ||
		len(asked) > 2 || len(asked) == 2 && !there {
		t.Errorf("%s: %+v", name, w.Refused)
	}
}
