package e2e

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
)

// TestNativePyTorch: in front of the Python frames of PyTorch's blocks are its C++ functions, up to the allocator, and
// for the driver's blocks up to the driver. The threads of its backward pass have no Python, and are named up to their
// start.
func TestNativePyTorch(t *testing.T) {
	together(t)
	r, _, windows := runGPU(t, pytorch(t), []string{"keep", "blip", "training_loop", "model"}, nil, "--budget", "off",
		"--native")
	checkCertificate(t, r)
	checkComplete(t, r)
	checkSums(t, r)
	checkBackward(t, windows)
	for _, want := range []struct{ meter, innermost, within string }{
		{"gpu.0.active", "c10::reportMemoryUsageToProfiler", "at::native::"},
		{"gpu.0.driver", "cuMemAlloc_v2", "cudaMalloc"},
	} {
		var seen, whole int
		for _, w := range windows {
			for _, a := range w.Allocations {
				if a.Meter != want.meter || a.Allocated == 0 {
					continue
				}
				seen++
				native := nativeFrames(a.Stack)
				if len(native) < 3 || native[0].Function != want.innermost || unknownCalls(native) {
					t.Logf("%s: %v", want.meter, a.Stack)
					continue
				}
				if slices.ContainsFunc(native,
					func(f model.Frame) bool { return strings.HasPrefix(f.Function, want.within) }) {
					whole++
				}
			}
		}
		if whole == 0 || whole < seen/2 {
			t.Errorf("%s: of %d stacks %d have %s, %s and no gap", want.meter, seen, whole, want.innermost, want.within)
		}
	}
}

func checkBackward(t *testing.T, windows []model.Window) {
	t.Helper()
	seen, whole := 0, 0
	for _, w := range windows {
		for _, a := range w.Allocations {
			native := nativeFrames(a.Stack)
			if a.Meter != "gpu.0.active" || len(native) == 0 || len(native) != len(a.Stack) {
				continue
			}
			seen++
			begins := strings.HasPrefix(native[len(native)-1].Module, "libc.so") && !a.StackTruncated &&
				!unknownCalls(native)
			if begins && slices.ContainsFunc(native,
				func(f model.Frame) bool { return f.Function == "torch::autograd::Engine::thread_main" }) {
				whole++
			}
		}
	}
	if whole == 0 || whole < seen/2 {
		t.Errorf("of %d stacks of threads without Python %d are of the backward pass, and whole", seen, whole)
	}
}

// nativeFrames returns the native frames of a stack.
func nativeFrames(stack []model.Frame) []model.Frame {
	n := slices.IndexFunc(stack, func(f model.Frame) bool { return !f.Native })
	if n < 0 {
		n = len(stack)
	}
	return stack[:n]
}

func unknownCalls(stack []model.Frame) bool {
	return slices.ContainsFunc(stack, func(f model.Frame) bool { return f.Native && f.Function == "?" })
}
