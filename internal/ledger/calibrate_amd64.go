package ledger

// breakpoint is the instruction that the kernel writes at the site of a probe: int3.
const breakpoint = 0xcc
