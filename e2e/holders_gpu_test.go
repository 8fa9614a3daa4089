package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/event"
)

// TestHoldersPyTorch: tensors on a GPU, page-locked ones, parameters, and memory of an optimizer, of gradients and of a
// graph are traced to the objects that hold them, through PyTorch's own C++ objects. Memory that no object of Python
// holds is not: the workspace of cuBLAS.
func TestHoldersPyTorch(t *testing.T) {
	together(t)
	file := filepath.Join(t.TempDir(), "run.arrows")
	cells := []string{"keep", "blip", "leak_1", "leak_2", "exception_keeps", "pinned", "model", "training_loop", "odd"}
	runGPU(t, pytorch(t), cells, nil, "--budget", "off", "--record", file)
	held := readHolders(t, file)
	const MiB = 1 << 20
	for _, want := range []struct {
		size, asked    event.Bytes
		kind           event.HolderKind
		path, function string
	}{
		{256 * MiB, 256 * MiB, event.HeldByVariable, "kept", ""},
		{64 * MiB, 64 * MiB, event.HeldByVariable, "leak[0]", ""},
		{64 * MiB, 64 * MiB, event.HeldByVariable, "leak[1]", ""},
		{64 * MiB, 64 * MiB, event.HeldByVariable, "host", ""},
		{128 * MiB, 128 * MiB, event.HeldByTraceback, "inner", "fails"},
		{8 * MiB, 8 * MiB, event.HeldByVariable, "batch", ""},
		{5_000_192, 5_000_001, event.HeldByVariable, "odd", ""},
		{32 * MiB, 0, event.HeldByNone, "", ""}, // cuBLAS
	} {
		found := false
		for _, h := range held[want.size] {
			found = found || h.Kind == want.kind && h.Path == want.path && h.Function == want.function &&
				h.Asked == want.asked
		}
		if !found {
			t.Errorf("%+v: %+v", want, held[want.size])
		}
	}
	kinds, optimizer := map[event.HolderKind]int{}, 0
	for _, list := range held {
		for _, h := range list {
			kinds[h.Kind]++
			if strings.HasPrefix(h.Path, "optimizer.state[<Parameter>]['exp_avg") {
				optimizer++
			}
		}
	}
	// Each of 48 parameters has two averages. The look does not search for those of less than 4 KiB.
	if kinds[event.HeldByNone] != 1 || kinds[event.HeldByVariable] < 90 || optimizer != 48 {
		t.Errorf("kinds %v, %d of the optimizer's", kinds, optimizer)
	}
}
