package tracer

import (
	"sort"
	"time"

	"ipytracer/internal/code/native"
	"ipytracer/internal/host/process"
)

// nativeSpace describes the machine code in a target's memory.
type nativeSpace struct {
	code []codeMapping // in order of address
	read time.Time     // when code was read
	// changes is the kernel's count of library loads and unloads at that time.
	changes uint32
	places  map[place]*known
	rested  rest // before the mappings are read again
}

// place is a return address, or an instruction.
type place struct {
	pc   uint64
	leaf bool
}

// codeMapping is an executable mapping, with its number within the session.
type codeMapping struct {
	process.Mapping
	number uint32
}

// known is the rule of a place, and the mapping in which it was found.
type known struct {
	in    uint32
	rule  native.Rule
	ruled bool // the kernel has the rule
}

// maxPlaces is the maximum of kept places; the kernel's table of rules has the same.
const maxPlaces = 1 << 17

// remapPause is the time between two looks at a target that maps code without its dynamic linker.
const remapPause = 100 * time.Millisecond

// find returns the mapping of an address, or the zero value if there is none.
func (n *nativeSpace) find(pc uint64) codeMapping {
	i := sort.Search(len(n.code), func(i int) bool { return n.code[i].End > pc })
	if i < len(n.code) && n.code[i].Start <= pc {
		return n.code[i]
	}
	return codeMapping{}
}

// address returns the address to look up for a place. For a return address that is the call before it, which may be the
// last instruction of its function.
func (p place) address() uint64 {
	if p.leaf {
		return p.pc
	}
	return p.pc - 1
}
