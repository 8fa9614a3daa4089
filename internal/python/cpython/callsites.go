package cpython

import (
	"maps"
	"slices"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/machine"
)

// A compiler may inline the body of an exported function into its callers: then no code passes the function itself. But
// the body's own calls, and the objects that they pass, stay the same. So such bodies are found by these calls.

// maxEnds bounds the calls that are probed as ends of a cell: a plain build of 3.13 has 13.
const maxEnds = 64

// Arguments of an [EndSite] with the value that a coroutine has returned.
const (
	FirstArgument  = 0
	SecondArgument = 1
)

// EndSite is where the value that a coroutine returns is seen.
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

// makers returns the makers of the build's version.
func (b *Binary) makers() []string {
	if b.version.Minor >= 13 {
		return makers[:1]
	}
	return makers
}

// endSites returns the places of [Sites.Ends]. doubted has the function's name if the build has too few calls and
// inlined bodies of the function.
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
		isBody := len(inside) == 0 || inside[outside[call]] // the function's own body calls the same maker
		if isBody && len(sites) <= maxEnds && text.Begins(call) {
			sites = append(sites, EndSite{Site: text.At(stopSymbol, call), Argument: SecondArgument})
		}
	}
	if fn.Value != 0 && refs.Callers(endSymbol)+len(sites)-1 < fewestEnds {
		doubted = []string{endSymbol}
	}
	return sites, doubted
}

// fewestEnds is how many calls and inlined bodies of _PyGen_SetStopIterationValue a build must have together: Debian's
// 3.9 has two.
const fewestEnds = 2

// doubtful are the other functions that decide where windows begin and end, and that a compiler may inline. (NumPy is
// another library, so its calls of PyTraceMalloc_Track and _Untrack cannot be inlined.)
var doubtful = []string{evalCodeSymbol, "PyOS_setsig", "Py_CompileStringObject"}

// uncalled returns the doubtful functions without a caller in the file, except functions that only jump to another.
func (b *Binary) uncalled(text *machine.Text, refs *machine.References) (names []string) {
	for _, name := range doubtful {
		fn, ok := b.image.Function(name)
		if _, thunk := text.Thunk(fn, 0); ok && !thunk && refs.Callers(name) == 0 {
			names = append(names, name)
		}
	}
	return names
}
