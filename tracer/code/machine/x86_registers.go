package machine

import "golang.org/x/arch/x86/x86asm"

// Register is where a function's result lies at a [ReturnSite].
type Register uint8

// The registers a result may be in. Zero is none: the function returns NULL.
const (
	RAX Register = iota
	RBX
	RBP
	R12
	R13
	R14
	R15
	Zero
	RDI // only where a tail call is to a function that returns its first argument
)

var registers = [...]struct {
	name     string
	location locations
}{
	RAX: {"rax", general(x86asm.RAX)}, RBX: {"rbx", general(x86asm.RBX)}, RBP: {"rbp", general(x86asm.RBP)},
	R12: {"r12", general(x86asm.R12)}, R13: {"r13", general(x86asm.R13)}, R14: {"r14", general(x86asm.R14)},
	R15: {"r15", general(x86asm.R15)}, Zero: {"0", zero}, RDI: {"rdi", general(x86asm.RDI)},
}

// String returns the register's name in lower case, "0" for Zero.
func (r Register) String() string {
	if int(r) < len(registers) {
		return registers[r].name
	}
	return "?"
}

// resultRegister chooses one of the locations that hold a result.
func resultRegister(l locations) (Register, bool) {
	if l&zero != 0 {
		return Zero, true
	}
	for r, reg := range registers {
		if l&reg.location != 0 {
			return Register(r), true
		}
	}
	return 0, false
}

// Condition is what the flags register must be for a hit to count: flags & Mask == Value. The zero Condition
// always holds.
type Condition struct{ Mask, Value uint32 }

// Holds says whether a hit with these flags (pt_regs.flags) counts.
func (c Condition) Holds(flags uint64) bool { return uint32(flags)&c.Mask == c.Value }

// condition returns when a conditional jump is taken. ok is false for those that depend on more than a flag.
func (in *instruction) condition() (taken Condition, ok bool) {
	const carry, parity, zeroFlag, sign, overflow = 1 << 0, 1 << 2, 1 << 6, 1 << 7, 1 << 11
	c, ok := map[x86asm.Op]Condition{
		x86asm.JB: {carry, carry}, x86asm.JAE: {carry, 0}, x86asm.JP: {parity, parity}, x86asm.JNP: {parity, 0},
		x86asm.JE: {zeroFlag, zeroFlag}, x86asm.JNE: {zeroFlag, 0}, x86asm.JS: {sign, sign}, x86asm.JNS: {sign, 0},
		x86asm.JO: {overflow, overflow}, x86asm.JNO: {overflow, 0},
	}[in.Op]
	return c, ok
}

// otherwise returns when a conditional jump with this condition is not taken.
func (c Condition) otherwise() Condition { return Condition{c.Mask, c.Mask &^ c.Value} }
