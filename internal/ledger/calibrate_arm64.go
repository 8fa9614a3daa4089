package ledger

// breakpoint is the first byte of the instruction that the kernel writes at the site of a probe: brk #5
// (BRK64_OPCODE_UPROBES, arch/arm64/include/asm/debug-monitors.h).
const breakpoint = 0xa0
