package cpython

import (
	"maps"
	"slices"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/machine"
)

// Calls found by the objects that they load. A compiler may have the body of an exported function in its callers: then
// no code passes the function itself. The calls in the body, and the object that they load, stay the same, so the calls
// are found in the machine code.

// maxEnds bounds the calls that are probed as ends of a cell: a plain build of 3.13 has 13.
const maxEnds = 64

// Arguments of an [EndSite] with the value that a coroutine has returned.
const (
	FirstArgument  = 0
	SecondArgument = 1
)

// EndSite is where a coroutine's value is seen as it ends.
type EndSite struct {
	machine.Site
	Argument uint8 // FirstArgument or SecondArgument
}

const (
	endSymbol  = "_PyGen_SetStopIterationValue"
	stopSymbol = "PyExc_StopIteration"
)

// makers are the functions that the body of _PyGen_SetStopIterationValue calls with PyExc_StopIteration and the value
// (Objects/genobject.c): the first in all of 3.9 to 3.15, the second until 3.12. Later code that calls PyErr_SetObject
// so is sys.monitoring's (Python/instrumentation.c).
var makers = []string{"PyObject_CallOneArg", "PyErr_SetObject"}

func (b *Binary) makers() []string {
	if b.version.Minor >= 13 {
		return makers[:1]
	}
	return makers
}

// endSites returns the places of [Sites.Ends], and the function's name where there are too few of its calls and of its
// bodies together.
func (b *Binary) endSites(text *machine.Text, refs *machine.References) (sites []EndSite, doubted []string) {
	if entry := text.Entry(endSymbol, 1); entry.Present() {
		sites = append(sites, EndSite{Site: entry})
	}
	fn := b.image.Symbols[endSymbol]
	body := elffile.Span{Start: fn.Value, End: fn.Value + fn.Size}
	inside, outside := map[string]bool{}, map[uint64]string{}
	for call, to := range refs.Passing(b.makers()) {
		if body.Contains(call) {
			inside[to] = true
		} else {
			outside[call] = to
		}
	}
	for _, call := range slices.Sorted(maps.Keys(outside)) {
		if len(inside) > 0 && !inside[outside[call]] || len(sites) > maxEnds || !text.Begins(call) {
			continue
		}
		sites = append(sites, EndSite{Site: text.At(stopSymbol, call), Argument: SecondArgument})
	}
	if fn.Value != 0 && refs.Callers(endSymbol)+len(sites)-1 < fewestEnds {
		doubted = []string{endSymbol}
	}
	return sites, doubted
}

// fewestEnds is how many ways to _PyGen_SetStopIterationValue a build must have, called or with its body in place: 3.9
// of Debian has two.
const fewestEnds = 2

// doubtful are the other functions that decide where windows begin and end. PyTraceMalloc_Track and _Untrack are not in
// doubt: NumPy is another library, and can call only exported functions.
var doubtful = []string{evalCodeSymbol, "PyOS_setsig", "Py_CompileStringObject"}

// doubted returns which of the doubtful functions have no caller in the file. A function that only jumps to another is
// never among them.
func (b *Binary) doubted(text *machine.Text, refs *machine.References) (names []string) {
	for _, name := range doubtful {
		fn, ok := b.image.Function(name)
		if _, thunk := text.Thunk(fn, 0); ok && !thunk && refs.Callers(name) == 0 {
			names = append(names, name)
		}
	}
	return names
}
