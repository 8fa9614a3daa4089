package model

// Kinds of [GPUNote].
const (
	// Preallocated: a library took most of the GPU in one block, whatever it needs.
	Preallocated = "preallocated"
	// Unreported: PyTorch's allocator takes tensors from a pool of the driver's and reports none of them (backend:cudaMallocAsync), so
	// that they are in gpu.N.driver, and not in gpu.N.active and gpu.N.reserved.
	Unreported = "unreported"
)

// Libraries of a [GPUNote].
const (
	JAX        = "JAX"
	TensorFlow = "TensorFlow"
	PyTorch    = "PyTorch"
)

// GPUNote is something without which a GPU's figures are misread.
type GPUNote struct {
	Kind    string `json:"kind"`
	Library string `json:"library"` // JAX and TensorFlow preallocate, PyTorch does not report
	PID     int    `json:"pid"`
	GPU     int    `json:"gpu"` // N of gpu.N
	// Bytes is how large the block is, Total how much memory the GPU has, 0 where nobody says; both are of preallocated.
	Bytes int64 `json:"bytes,omitempty"`
	Total int64 `json:"total,omitempty"`
}
