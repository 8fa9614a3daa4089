package elffile

import "debug/elf"

// relocationKinds are the kinds of relocations of a processor.
type relocationKinds struct {
	relative   uint32 // the load bias is added
	byFunction uint32 // what a function returns that the dynamic linker calls
	address    uint32 // that of a symbol
	offset     uint32 // the same, in the global offset table
	plt        uint32 // the same, for the PLT
}

// kindsOf are those of the processors whose files are read: System V ABI for x86-64, table 4.9; ELF for the Arm 64-bit
// Architecture, section 5.7.
var kindsOf = map[elf.Machine]relocationKinds{
	elf.EM_X86_64: {
		relative: uint32(elf.R_X86_64_RELATIVE), byFunction: uint32(elf.R_X86_64_IRELATIVE),
		address: uint32(elf.R_X86_64_64), offset: uint32(elf.R_X86_64_GLOB_DAT), plt: uint32(elf.R_X86_64_JMP_SLOT),
	},
	elf.EM_AARCH64: {
		relative: uint32(elf.R_AARCH64_RELATIVE), byFunction: uint32(elf.R_AARCH64_IRELATIVE),
		address: uint32(elf.R_AARCH64_ABS64), offset: uint32(elf.R_AARCH64_GLOB_DAT),
		plt: uint32(elf.R_AARCH64_JUMP_SLOT),
	},
}
