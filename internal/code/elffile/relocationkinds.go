package elffile

import "debug/elf"

// relocationKinds are a processor's numbers for the kinds of relocations. The comments say what the dynamic linker
// writes.
type relocationKinds struct {
	relative   uint32 // the load bias plus the addend
	byFunction uint32 // what a function returns, which the dynamic linker calls
	address    uint32 // the address of a symbol, in data
	offset     uint32 // the address of a symbol, in the global offset table
	plt        uint32 // the address of a symbol, for the PLT
}

// kindsOf are the kinds of each known processor: System V ABI for x86-64, table 4.9; ELF for the Arm 64-bit
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
