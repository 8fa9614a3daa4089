package elffile

import "debug/elf"

// Native is the processor of the machine that the tracer runs on. Files for other processors are read only as
// [AnyMachine]. NativeName is the processor's name for people.
const (
	Native     = elf.EM_AARCH64
	NativeName = "arm64"
	// Triplet names the machine in folders of libraries of Debian and its like, and in names of Python's extension
	// modules.
	Triplet = "aarch64-linux-gnu"
)
