package elffile

import "debug/elf"

// Native is the processor of the machine that the tracer runs on. Files for other processors are read only as
// [AnyMachine]. NativeName is the processor's name for people.
const (
	Native     = elf.EM_AARCH64
	NativeName = "arm64"
	// Triplet is the machine's name in the library folders of Debian and its derivatives, and in the file names of
	// Python's extension modules.
	Triplet = "aarch64-linux-gnu"
)
