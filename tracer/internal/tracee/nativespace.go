package tracee

import (
	"sort"
	"time"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/host/process"
)

// NativeSpace describes the machine code in a target's memory.
type NativeSpace struct {
	Code []CodeMapping // in order of address
	Read time.Time     // when code was read
	// Changes is the kernel's count of library loads and unloads at that time.
	Changes uint32
	Places  map[Place]*Known
	Rested  cooldown // before the mappings are read again
}

// Place is a return address, or an instruction.
type Place struct {
	PC   uint64
	Leaf bool
}

// CodeMapping is an executable mapping, with its number within the session.
type CodeMapping struct {
	process.Mapping
	Number uint32
}

// Known is the rule of a place, and the mapping in which it was found.
type Known struct {
	In    uint32
	Rule  elffile.Rule
	Ruled bool // the kernel has the rule
}

// MaxPlaces is the maximum of kept places; the kernel's table of rules has the same.
const MaxPlaces = 1 << 17

// RemapPause is the time between two looks at a target that maps code without its dynamic linker.
const RemapPause = 100 * time.Millisecond

// Find returns the mapping of an address, or the zero value if there is none.
func (n *NativeSpace) Find(pc uint64) CodeMapping {
	i := sort.Search(len(n.Code), func(i int) bool { return n.Code[i].End > pc })
	if i < len(n.Code) && n.Code[i].Start <= pc {
		return n.Code[i]
	}
	return CodeMapping{}
}

// Address returns the address to look up for a place. For a return address that is the call before it, which may be the
// last instruction of its function.
func (p Place) Address() uint64 {
	if p.Leaf {
		return p.PC
	}
	return p.PC - 1
}
