package elffile

import "debug/elf"

// Native is the processor of the machine that the tracer runs on: files for others are not read. NativeName names it to
// people.
const (
	Native     = elf.EM_X86_64
	NativeName = "x86-64"
)

// The kinds of relocations (System V ABI for x86-64, table 4.9).
const (
	relocatesRelative   = uint32(elf.R_X86_64_RELATIVE)
	relocatesByFunction = uint32(elf.R_X86_64_IRELATIVE)
	relocatesAddress    = uint32(elf.R_X86_64_64)
	relocatesOffset     = uint32(elf.R_X86_64_GLOB_DAT)
	relocatesPLT        = uint32(elf.R_X86_64_JMP_SLOT)
)
