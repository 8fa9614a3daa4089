package cpython

import (
	"bytes"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/machine"
)

// StatementSites are the calls of PyEval_EvalCode by which IPython runs the statements of a cell
// (InteractiveShell.run_code, IPython 7 to 9): exec() of a code object, or await eval() of a coroutine's code object.
// Few other uses of PyEval_EvalCode pass these places: eval() and exec() of other code objects do, but not of a text.
// All places are emulated by Linux, which is cheap.
type StatementSites struct {
	// Exec is the call in exec(), with the code as first argument. Behind is the instruction at which the call returns,
	// with the same stack pointer and the result.
	Exec, Behind machine.Site
	// Eval is the call in eval(), with the code as first argument.
	Eval machine.Site
}

// MarimoSites are the places that only cells of marimo need. They are not probed in other processes.
type MarimoSites struct {
	// BehindEval is in eval() what StatementSites.Behind is in exec(). It is not present where eval() ends with a jump
	// to PyEval_EvalCode, as in Debian's 3.11: there that function's own places serve.
	BehindEval machine.Site
	// CoroutineFreed is in the function that frees a coroutine or a generator, its first argument.
	CoroutineFreed machine.Site
}

// Present reports whether the places were found: all or none are.
func (s StatementSites) Present() bool { return s.Exec.Present() }

// The names of these places, for people.
const (
	execName = "builtins.exec"
	evalName = "builtins.eval"
)

// methodSize is sizeof(PyMethodDef): name, function, flags, documentation (Include/methodobject.h, 3.9 to 3.15).
const methodSize = 32

// maxNames bounds the places of a name in a segment of the file. There may be many, as a linker lays texts with the
// same end on top of each other.
const maxNames = 1 << 10

// statementSites finds the functions behind eval() and exec(), and their calls of PyEval_EvalCode in the machine code.
// It returns no places unless all code of both functions was seen, and has exactly one call each.
func (b *Binary) statementSites(text *machine.Text, refs *machine.References) (s StatementSites,
	behindEval machine.Site) {
	eval, exec, found := b.evaluators()
	if !found {
		return StatementSites{}, machine.Site{}
	}
	inEval, evalWhole := refs.CallsFrom(eval, evalCodeSymbol)
	inExec, execWhole := refs.CallsFrom(exec, evalCodeSymbol)
	if !evalWhole || !execWhole || len(inEval) != 1 || len(inExec) != 1 || inEval[0] == inExec[0] {
		return StatementSites{}, machine.Site{}
	}
	s = StatementSites{
		Exec: text.At(execName, inExec[0]), Behind: text.BehindCall(execName, inExec[0]),
		Eval: text.At(evalName, inEval[0]),
	}
	if !s.Exec.Emulated || !s.Behind.Emulated || !s.Eval.Emulated {
		return StatementSites{}, machine.Site{}
	}
	return s, text.BehindCall(evalName, inEval[0])
}

// evaluators returns the functions behind eval() and exec(). It finds them by the table of the module builtins, in
// which eval and exec are neighbours (Python/bltinmodule.c, 3.9 to 3.15). found is false unless the file has exactly
// one such table.
func (b *Binary) evaluators() (eval, exec uint64, found bool) {
	names := b.findTexts("eval\x00", "exec\x00")
	addrs := map[uint64]bool{}
	for at := range names {
		addrs[at] = true
	}
	pointers := b.image.PointersTo(addrs)
	tables := 0
	for at, name := range pointers {
		if names[name] != "eval\x00" || names[pointers[at+methodSize]] != "exec\x00" {
			continue
		}
		first, hasEval := b.function(at + 8)
		second, hasExec := b.function(at + methodSize + 8)
		if hasEval && hasExec { // other tables have these names, too, but no functions
			eval, exec = first, second
			tables++
		}
	}
	if tables != 1 {
		return 0, 0, false
	}
	return eval, exec, true
}

// function returns the function to which the pointer at an address leads; ok is false if it leads to no code.
func (b *Binary) function(pointer uint64) (addr uint64, ok bool) {
	addr, ok = b.image.RelativePointee(pointer)
	return addr, ok && b.image.Executable(addr)
}

// findTexts returns where the file has the texts: a text by each address.
func (b *Binary) findTexts(findTexts ...string) map[uint64]string {
	found := map[uint64]string{}
	for _, s := range b.image.Segments() {
		if s.Size > elffile.MaxTable {
			continue
		}
		data := b.image.Contents(s)
		for _, text := range findTexts {
			for from, n := 0, 0; n < maxNames; n++ {
				i := bytes.Index(data[from:], []byte(text))
				if i < 0 {
					break
				}
				found[s.Vaddr+uint64(from+i)] = text
				from += i + 1
			}
		}
	}
	return found
}

// Bare returns the most instructions, with their caches, of a code object that only loads a name or a constant: RESUME,
// which has a cache since 3.15, the load, and the return. Since 3.11 code objects say how many they have.
func (v Version) Bare() uint32 {
	if v.Minor >= 15 {
		return 4
	}
	return 3
}
