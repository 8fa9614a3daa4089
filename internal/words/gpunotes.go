package words

import (
	"fmt"

	"ipytracer/model"
)

// switches are the settings that keep a library from preallocating.
var switches = map[string]string{
	model.JAX:        "XLA_PYTHON_CLIENT_PREALLOCATE=false",
	model.TensorFlow: "TF_FORCE_GPU_ALLOW_GROWTH=true",
}

// GPUNote returns a note in words; "" for an unknown kind or library, as in a report of a newer tracer.
func GPUNote(n *model.GPUNote) string {
	meter := func(kind string) string { return fmt.Sprintf("GPU %d %s", n.GPU, kind) }
	switch set := switches[n.Library]; {
	case n.Kind == model.Unreported && n.Library == model.PyTorch:
		return "PyTorch's backend cudaMallocAsync reports no tensors: they are in " + meter("driver") +
			", not in active and reserved"
	case n.Kind == model.SharedMemory:
		return "it shares the machine's memory, where " + meter("driver") + " lies, too; NVML has no figure of it"
	case n.Kind == model.Coherent:
		return "it and the processors reach each other's memory: a part of resident may lie on the GPU"
	case n.Kind == model.Managed:
		return "at its highest " + Bytes(n.Bytes) + " of " + meter("driver") +
			" are managed memory, which lies on the GPU or in the machine's memory"
	case n.Kind != model.Preallocated || set == "":
		return ""
	case n.Total > 0:
		return fmt.Sprintf("%s of %s in one block: %s preallocates; %s shows what cells need",
			Bytes(n.Bytes), Bytes(n.Total), n.Library, set)
	default:
		return fmt.Sprintf("%s in one block: %s preallocates; %s shows what cells need", Bytes(n.Bytes), n.Library, set)
	}
}
