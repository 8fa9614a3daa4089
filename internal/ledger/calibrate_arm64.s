#include "textflag.h"

// Two functions to put probes on. The kernel simulates the branch to the next instruction of the first (a nop only since
// Linux 6.13); it has to single-step the mov of the second. The third is for comparison: never a probe is on it.

// func emulated()
TEXT ·emulated(SB), NOSPLIT|NOFRAME, $0-0
	WORD $0x14000001 // b .+4
	RET

// func stepped()
TEXT ·stepped(SB), NOSPLIT|NOFRAME, $0-0
	WORD $0xaa0003e0 // mov x0, x0
	RET

// func unprobed()
TEXT ·unprobed(SB), NOSPLIT|NOFRAME, $0-0
	WORD $0x14000001 // b .+4
	RET

// Their addresses: taken here, because in Go a function's address is that of a wrapper.
DATA ·emulatedAddress(SB)/8, $·emulated(SB)
GLOBL ·emulatedAddress(SB), RODATA, $8
DATA ·steppedAddress(SB)/8, $·stepped(SB)
GLOBL ·steppedAddress(SB), RODATA, $8
