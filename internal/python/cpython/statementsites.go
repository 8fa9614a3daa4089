package cpython

import (
	"bytes"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/machine"
)

// StatementSites are calls of PyEval_EvalCode by which IPython runs the statements of a cell
// (InteractiveShell.run_code, IPython 7 to 9): exec() of a code object, or await eval() of one that is a coroutine's.
// Other uses of the function pass elsewhere: only eval() of other code passes one of these places, and code that exec()
// and eval() make of a text passes none. All are emulated.
type StatementSites struct {
	// Exec is the call in exec(), with the code as first argument. Behind it is passed by each return from it, with the
	// same stack pointer and the result.
	Exec, Behind machine.Site
	// Eval is the call in eval(), with the code as first argument.
	Eval machine.Site
}

// Present reports whether they were found, all of them.
func (s StatementSites) Present() bool { return s.Exec.Present() }

// The names of these places, for people.
const (
	execName = "builtins.exec"
	evalName = "builtins.eval"
)

// methodSize is sizeof(PyMethodDef): name, function, flags, documentation (Include/methodobject.h, 3.9 to 3.15).
const methodSize = 32

// maxNames bounds how often a name is looked for in the file: a linker lays texts with the same end on top of each
// other.
const maxNames = 1 << 10

// statementSites finds the two functions by the table that makes the module builtins, in which eval and exec are
// neighbours (Python/bltinmodule.c, 3.9 to 3.15), and their calls in the machine code. None are returned unless each
// has exactly one, and no other way to the function that a look at all of its code leaves open.
func (b *Binary) statementSites(text *machine.Text, refs *machine.References) StatementSites {
	eval, exec, found := b.evaluators()
	if !found {
		return StatementSites{}
	}
	inEval, evalWhole := refs.CallsFrom(eval, evalCodeSymbol)
	inExec, execWhole := refs.CallsFrom(exec, evalCodeSymbol)
	if !evalWhole || !execWhole || len(inEval) != 1 || len(inExec) != 1 || inEval[0] == inExec[0] {
		return StatementSites{}
	}
	s := StatementSites{
		Exec: text.At(execName, inExec[0]), Behind: text.BehindCall(execName, inExec[0]),
		Eval: text.At(evalName, inEval[0]),
	}
	if !s.Exec.Emulated || !s.Behind.Emulated || !s.Eval.Emulated {
		return StatementSites{}
	}
	return s
}

// evaluators returns the functions behind eval() and exec(). They are not found where the file has no table with both,
// or several.
func (b *Binary) evaluators() (eval, exec uint64, found bool) {
	names := b.texts("eval\x00", "exec\x00")
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
		first, ok := b.function(at + 8)
		second, both := b.function(at + methodSize + 8)
		if ok && both { // a table with these names and no code is another one
			eval, exec = first, second
			tables++
		}
	}
	if tables != 1 {
		return 0, 0, false
	}
	return eval, exec, true
}

// function returns the function that a pointer in a table is to.
func (b *Binary) function(pointer uint64) (addr uint64, ok bool) {
	addr, ok = b.image.RelativePointee(pointer)
	return addr, ok && b.image.Executable(addr)
}

// texts returns the addresses at which the file has some texts.
func (b *Binary) texts(texts ...string) map[uint64]string {
	found := map[uint64]string{}
	for _, s := range b.image.Segments() {
		if s.Size > elffile.MaxTable {
			continue
		}
		data := b.image.Contents(s)
		for _, text := range texts {
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
