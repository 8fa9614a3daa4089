package elffile

import "debug/elf"

// Native is the processor of the machine that the tracer runs on. Files for other processors are read only as
// [AnyMachine]. NativeName is the processor's name for people.
const (
	Native     = elf.EM_X86_64
	NativeName = "x86-64"
	// Triplet is the machine's name in the library folders of Debian and its derivatives, and in the file names of
	// Python's extension modules.
	Triplet = "x86_64-linux-gnu"
)
