package machine

import (
	"debug/elf"

	"ipytracer/internal/code/isa"
	"ipytracer/internal/code/machine/arm64"
	"ipytracer/internal/code/machine/x86"
)

// architectures are the processors for which there is code to analyse.
var architectures = []*isa.Architecture{&x86.Architecture, &arm64.Architecture}

// unknown is the architecture of files for other processors. It decodes no instruction.
var unknown = isa.Architecture{
	Arguments: make([]isa.Register, 6),
	StubStep:  1,
	Decode:    func([]byte, uint64) (in isa.Instruction, ok bool) { return in, false },
	Stub: func(func(uint64) (isa.Instruction, bool), uint64, int) (pointer uint64, ok bool) {
		return 0, false
	},
	Scan: func(uint64, []byte, func(isa.Reference) bool) {},
}

func architectureOf(machine elf.Machine) *isa.Architecture {
	for _, a := range architectures {
		if a.Machine == machine {
			return a
		}
	}
	return &unknown
}

// Emulated reports whether Linux emulates the first instruction of code, which is for a processor, see [Site]. All
// probes follow this rule.
func Emulated(machine elf.Machine, code []byte) bool {
	in, ok := architectureOf(machine).Decode(code, 0)
	return ok && in.Emulated
}

// Refused reports whether Linux refuses a probe on the first instruction of code, which is for a processor.
func Refused(machine elf.Machine, code []byte) bool {
	in, _ := architectureOf(machine).Decode(code, 0)
	return in.Refused
}

// EntryMark returns the length in bytes of the instruction that marks an entry at the beginning of code, which is for a
// processor; 0 if there is none.
func EntryMark(machine elf.Machine, code []byte) int {
	if in, ok := architectureOf(machine).Decode(code, 0); ok && in.MarksEntry {
		return in.Len
	}
	return 0
}
