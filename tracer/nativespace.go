package tracer

import (
	"sort"
	"time"

	"ipytracer/tracer/code/native"
	"ipytracer/tracer/host/process"
)

// nativeSpace is what is known of the machine code in a target's memory.
type nativeSpace struct {
	code []codeMapping // in order of address
	read time.Time     // when they were
	// changes is how often libraries had come or gone by then, as the kernel counts.
	changes uint32
	places  map[place]*known
}

// place is a return address, or an instruction.
type place struct {
	pc   uint64
	leaf bool
}

// codeMapping is an executable mapping, with its number among all of the session.
type codeMapping struct {
	process.Mapping
	number uint32
}

// known is what has been found out about a place, and the mapping it was found in.
type known struct {
	in    uint32
	rule  native.Rule
	ruled bool // the kernel has the rule
}

// maxPlaces is how many are kept; the kernel's table of rules has as many.
const maxPlaces = 1 << 17

// remapPause is how often a target that maps code without its dynamic linker is looked at again.
const remapPause = 100 * time.Millisecond

// find returns the mapping of an address, the zero one if there is none.
func (n *nativeSpace) find(pc uint64) codeMapping {
	i := sort.Search(len(n.code), func(i int) bool { return n.code[i].End > pc })
	if i < len(n.code) && n.code[i].Start <= pc {
		return n.code[i]
	}
	return codeMapping{}
}

// address is what is looked up for a place: of a return address the call before it, which may be the last instruction
// of its function.
func (p place) address() uint64 {
	if p.leaf {
		return p.pc
	}
	return p.pc - 1
}
