package ledger

// breakpoint is the instruction that the kernel puts where a probe is: int3.
const breakpoint = 0xcc
