#include "textflag.h"

// Two functions to put probes on. The kernel emulates the nop of the first; it has to single-step the mov of
// the second. The third is for comparison: never a probe is on it.

// func emulated()
TEXT ·emulated(SB), NOSPLIT|NOFRAME, $0-0
	BYTE $0x90
	RET

// func stepped()
TEXT ·stepped(SB), NOSPLIT|NOFRAME, $0-0
	BYTE $0x48; BYTE $0x89; BYTE $0xc0 // mov rax, rax
	RET

// func unprobed()
TEXT ·unprobed(SB), NOSPLIT|NOFRAME, $0-0
	BYTE $0x90
	RET

// Their addresses: taken here, because in Go a function's address is that of a wrapper.
DATA ·emulatedAddress(SB)/8, $·emulated(SB)
GLOBL ·emulatedAddress(SB), RODATA, $8
DATA ·steppedAddress(SB)/8, $·stepped(SB)
GLOBL ·steppedAddress(SB), RODATA, $8
