package words

import (
	"testing"

	"ipytracer/model"
)

func TestGPUNote(t *testing.T) {
	const gib = 1 << 30
	for want, n := range map[string]model.GPUNote{
		"60.00 GiB of 80.00 GiB in one block: JAX preallocates; XLA_PYTHON_CLIENT_PREALLOCATE=false " +
			"shows what cells need": {Kind: model.Preallocated, Library: model.JAX, Bytes: 60 * gib, Total: 80 * gib},
		"60.00 GiB in one block: JAX preallocates; XLA_PYTHON_CLIENT_PREALLOCATE=false " +
			"shows what cells need": {Kind: model.Preallocated, Library: model.JAX, Bytes: 60 * gib},
		"20.00 GiB of 24.00 GiB in one block: TensorFlow preallocates; TF_FORCE_GPU_ALLOW_GROWTH=true " +
			"shows what cells need": {
			Kind: model.Preallocated, Library: model.TensorFlow, GPU: 1, Bytes: 20 * gib, Total: 24 * gib},
		"PyTorch's backend cudaMallocAsync reports no tensors: they are in GPU 1 driver, " +
			"not in active and reserved": {Kind: model.Unreported, Library: model.PyTorch, GPU: 1},
		"it shares the machine's memory, where GPU 2 driver lies, too; NVML has no figure of it": {
			Kind: model.SharedMemory, GPU: 2},
		"it and the processors reach each other's memory: a part of resident may lie on the GPU": {
			Kind: model.Coherent, GPU: 2},
		"at its highest 3.00 GiB of GPU 0 driver are managed memory, " +
			"which lies on the GPU or in the machine's memory": {
			Kind: model.Managed, Bytes: 3 * gib},
		"": {Kind: "newer", Library: model.PyTorch},
	} {
		if got := GPUNote(&n); got != want {
			t.Errorf("%+v: %q, want %q", n, got, want)
		}
	}
}
