package e2e

import (
	"path/filepath"
	"testing"

	"ipytracer/model"
)

// pytorch returns the place of a kernel with a real PyTorch for CUDA in a chroot, on stand-ins for NVIDIA's software.
func pytorch(t *testing.T, extra ...string) place {
	t.Helper()
	root := filepath.Join(pythonsDir(), "torch")
	needTree(t, root)
	enter(t, root)
	return place{driver: "../gpu/pytorch/run_pytorch.py", python: "/usr/bin/python3", chroot: root, extra: extra}
}

// TestPyTorch runs PyTorch's own caching allocator in its three modes. Every driver figure is the sum of the calls that
// the stand-in served. Every active and reserved figure is that of torch.cuda, cell by cell, to the byte. PyTorch is
// imported by the second cell.
func TestPyTorch(t *testing.T) {
	together(t)
	for _, allocator := range []string{"default", "expandable", "async"} {
		t.Run(allocator, func(t *testing.T) {
			r, results, windows := runGPU(t, pytorch(t, "--allocator", allocator), nil, nil, "--budget", "off")
			compared, active := 0, 0
			for i, run := range results {
				compared += checkDevices(t, run.Name, run.Truth, windows[i].Meters)
				if run.Truth["gpu.0.active"] != nil {
					active++
				}
				if run.Status != run.Expected || windows[i].Status != run.Status {
					t.Errorf("%s: status %s, want %s: %s; the window says %s", run.Name, run.Status, run.Expected,
						run.Error, windows[i].Status)
				}
				if run.Name == "out_of_memory" && allocator == "default" {
					checkRefusals(t, windows[i], map[string]int{"gpu.0.driver": 2, "gpu.0.active": 1})
					for _, refusal := range windows[i].Refused {
						if n := len(refusal.Stack); n == 0 || refusal.Stack[0].Function != "take" ||
							refusal.Stack[n-1].ExecutionCount == nil {
							t.Errorf("%s: who asked for %s: %+v", run.Name, refusal.Meter, refusal.Stack)
						}
					}
				} else if run.Name == "out_of_memory" && len(windows[i].Refused) == 0 {
					t.Errorf("%s: nothing was refused", run.Name)
				}
			}
			if compared < 2*len(results) || (active < 30) != (allocator == "async") {
				t.Errorf("only %d figures were compared, %d cells with PyTorch's totals", compared, active)
			}
			var notes []model.GPUNote
			for gpu := range 2 {
				if allocator == "async" {
					notes = append(notes, model.GPUNote{Kind: model.Unreported, Library: model.PyTorch, GPU: gpu})
				}
			}
			checkNotes(t, r, notes...)
			checkCertificate(t, r)
			checkNothingMissed(t, r)
			if a := r.Certificate.Attribution; !a.Complete { // its backward pass is a thread without Python
				// Other tests keep the machine busy meanwhile; TestPyTorchIsComplete runs alone.
				t.Logf("who allocated: %q", a.Incomplete)
			}
			checkSums(t, r)
		})
	}
}

// TestPyTorchLateAttach: PyTorch has been used for a while. Its totals are right from its first report on.
func TestPyTorchLateAttach(t *testing.T) {
	together(t)
	_, results, windows := runGPU(t, pytorch(t, "--begin", "leak_1"),
		[]string{"keep", "blip", "leak_1", "leak_2", "training_loop", "model"}, nil, "--budget", "off")
	if len(results) < 4 {
		t.Fatalf("%d cells", len(results))
	}
	for i, run := range results {
		want, f := run.Truth["gpu.0.active"], windows[i].Meters["gpu.0.active"]
		if got := (startPeakEnd{f.Start, f.Peak, f.End}); want == nil || got != *want || want.Start == 0 || !f.Exact {
			t.Errorf("%s: active is %+v, want %+v", run.Name, f, want)
		}
	}
}
