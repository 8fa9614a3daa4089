package e2e

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/report"
)

// TestNativePyTorch: in front of the Python frames of PyTorch's blocks are its C++ functions, up to the allocator; behind those of
// the driver's is the driver.
func TestNativePyTorch(t *testing.T) {
	require(t)
	r, _, windows := runGPU(t, pytorch(t), []string{"keep", "blip", "leak_1", "leak_2", "training_loop"}, nil, "--budget", "off", "--native")
	checkCertificate(t, r)
	checkSums(t, r)
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
				if slices.ContainsFunc(native, func(f report.Frame) bool { return strings.HasPrefix(f.Function, want.within) }) {
					whole++
				}
			}
		}
		if whole == 0 || whole < seen/2 {
			t.Errorf("%s: of %d stacks %d have %s, %s and no gap", want.meter, seen, whole, want.innermost, want.within)
		}
	}
}

// nativeFrames are a stack's native ones.
func nativeFrames(stack []report.Frame) []report.Frame {
	n := slices.IndexFunc(stack, func(f report.Frame) bool { return !f.Native })
	if n < 0 {
		n = len(stack)
	}
	return stack[:n]
}

func unknownCalls(stack []report.Frame) bool {
	return slices.ContainsFunc(stack, func(f report.Frame) bool { return f.Native && f.Function == "?" })
}
