package model

// Kinds of [GPUNote].
const (
	// Preallocated: a library took most of the GPU in one block, regardless of its needs.
	Preallocated = "preallocated"
	// Unreported: PyTorch's allocator takes tensors from a pool of the driver's and reports none of them
	// (backend:cudaMallocAsync). So they are in gpu.N.driver, and not in gpu.N.active and gpu.N.reserved.
	Unreported = "unreported"
	// SharedMemory: the GPU has no memory of its own. What gpu.N.driver counts lies in the machine's memory.
	SharedMemory = "shared"
	// Coherent: the GPU and the machine's processors reach each other's memory by NVLink-C2C (GH200, GB200, GB300),
	// where Linux has the GPU's memory as a NUMA node: pages of cpu.resident may lie there.
	Coherent = "coherent"
	// Managed: some of gpu.N.driver is managed memory, which lies on the GPU or in the machine's memory.
	Managed = "managed"
)

// Libraries of a [GPUNote].
const (
	JAX        = "JAX"
	TensorFlow = "TensorFlow"
	PyTorch    = "PyTorch"
)

// GPUNote is a fact that readers need, so as not to misread the figures of a GPU.
type GPUNote struct {
	Kind    string `json:"kind"`
	Library string `json:"library"` // JAX and TensorFlow preallocate, PyTorch does not report; else ""
	PID     int    `json:"pid"`
	GPU     int    `json:"gpu"` // N of gpu.N
	// Bytes is the size of the block, or the highest sum of managed memory; Total is the memory of the GPU, 0 if not
	// known. Only Preallocated has both.
	Bytes int64 `json:"bytes,omitempty"`
	Total int64 `json:"total,omitempty"`
}
