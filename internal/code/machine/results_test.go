package machine

import "ipytracer/internal/code/machine/x86"

// The places of results in the tests' functions.
const (
	RAX  = x86.RAX
	RBX  = x86.RBX
	RBP  = x86.RBP
	R12  = x86.R12
	R13  = x86.R13
	R15  = x86.R15
	Zero = x86.Zero
)
