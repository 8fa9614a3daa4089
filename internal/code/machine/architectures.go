package machine

import (
	"debug/elf"

	"ipytracer/internal/code/isa"
	"ipytracer/internal/code/machine/arm64"
	"ipytracer/internal/code/machine/x86"
)

// architectures are the processors for which there is code to analyse.
var architectures = []*isa.Architecture{&x86.Architecture, &arm64.Architecture}

// unknown is the architecture of a file for any other processor: its code is not understood.
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

// Emulated reports whether the kernel emulates the first instruction of some code of a file for a processor, see
// [Site]. This is the one rule for all probes.
func Emulated(machine elf.Machine, code []byte) bool {
	in, ok := architectureOf(machine).Decode(code, 0)
	return ok && in.Emulated
}

// Refused reports whether no probe can be on the first instruction of some code of a file for a processor.
func Refused(machine elf.Machine, code []byte) bool {
	in, _ := architectureOf(machine).Decode(code, 0)
	return in.Refused
}

// EntryMark returns the length in bytes of the mark of an entry at the beginning of some code of a file for a
// processor; 0 where there is none.
func EntryMark(machine elf.Machine, code []byte) int {
	if in, ok := architectureOf(machine).Decode(code, 0); ok && in.MarksEntry {
		return in.Len
	}
	return 0
}
