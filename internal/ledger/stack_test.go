package ledger

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// The kernel adds up the stacks of functions that call one another, and refuses a program above 512 bytes. Kernels up
// to 6.8 round each of them up to 32 bytes. Newer kernels accept more, so a load on a current kernel does not reveal
// such functions.
func TestStackFitsOldKernels(t *testing.T) {
	objects, err := filepath.Glob("kernel_*_bpfel.o")
	if err != nil || len(objects) < 2 {
		t.Fatal(objects, err)
	}
	for _, object := range objects { // of each processor
		t.Run(object, func(t *testing.T) {
			spec, err := ebpf.LoadCollectionSpec(object)
			if err != nil {
				t.Fatal(err)
			}
			for name, program := range spec.Programs {
				checkStack(t, name, program.Instructions)
			}
		})
	}
}

func checkStack(t *testing.T, name string, program asm.Instructions) {
	t.Helper()
	functions, first := stacks(program)
	depth, calls := deepest(functions, first)
	if depth > stackLimit {
		t.Errorf("%s: %d bytes of stack in %s", name, depth, strings.Join(calls, ", "))
	}
	if above := aboveCalls(functions, first); above >= callerLimit {
		t.Errorf("%s: %d bytes of stack where it calls another program", name, above)
	}
}

const (
	stackLimit = 512
	// of the functions above one that calls another program (bpf/calls.h): with that program, the limit is 8 KiB in 33
	// calls
	callerLimit   = 256
	stackRounding = 32
)

// function has the stack size of a function, and the functions that it calls.
type function struct {
	stack int
	calls []string
	leads bool // to another program
}

// size returns the bytes that a kernel counts for the function.
func (f *function) size() int {
	return (max(f.stack, 1) + stackRounding - 1) / stackRounding * stackRounding
}

// stacks reads the functions of a program, and returns the name of its first one.
func stacks(program asm.Instructions) (functions map[string]*function, first string) {
	functions = map[string]*function{}
	var f *function
	for i, ins := range program {
		if s := ins.Symbol(); s != "" && btf.FuncMetadata(&program[i]) != nil {
			f = &function{}
			functions[s] = f
			if first == "" {
				first = s
			}
		}
		if ins.IsFunctionCall() || ins.IsLoadOfFunctionPointer() {
			f.calls = append(f.calls, ins.Reference())
		}
		f.leads = f.leads || ins.IsBuiltinCall() && asm.BuiltinFunc(ins.Constant) == asm.FnTailCall
		class := ins.OpCode.Class()
		switch {
		case class.IsStore() && ins.Dst == asm.R10, class.IsLoad() && ins.Src == asm.R10:
			f.stack = max(f.stack, -int(ins.Offset))
		case ins.OpCode.ALUOp() == asm.Mov && ins.OpCode.Source() == asm.RegSource && ins.Src == asm.R10:
			next := program[i+1]
			if next.OpCode.ALUOp() == asm.Add && next.OpCode.Source() == asm.ImmSource && next.Dst == ins.Dst {
				f.stack = max(f.stack, -int(next.Constant))
			}
		}
	}
	return functions, first
}

// deepest returns the chain of calls below a function that takes the most stack.
func deepest(functions map[string]*function, name string) (depth int, calls []string) {
	f := functions[name]
	for _, callee := range f.calls {
		if d, c := deepest(functions, callee); d > depth {
			depth, calls = d, c
		}
	}
	return f.size() + depth, append([]string{name}, slices.Clone(calls)...)
}

// aboveCalls returns the largest stack above a function that calls another program; 0 if there is none.
func aboveCalls(functions map[string]*function, name string) (most int) {
	f := functions[name]
	for _, callee := range f.calls {
		if below := aboveCalls(functions, callee); functions[callee].leads || below > 0 {
			most = max(most, f.size()+below)
		}
	}
	return most
}
