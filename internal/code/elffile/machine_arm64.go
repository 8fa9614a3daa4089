package elffile

import "debug/elf"

// Native is the processor of the machine that the tracer runs on: files for others are not read, but as [AnyMachine].
// NativeName names it to people.
const (
	Native     = elf.EM_AARCH64
	NativeName = "arm64"
	// Triplet names the machine in folders of libraries of Debian and its like, and in names of Python's extension
	// modules.
	Triplet = "aarch64-linux-gnu"
)
