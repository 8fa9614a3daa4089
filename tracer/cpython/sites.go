package cpython

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// Site is an instruction to put a plain uprobe on. Return probes are never offered: they replace return
// addresses, which breaks greenlets and C++ exceptions.
type Site struct {
	Symbol string // the exported function the site stands for
	// Delta is the distance in bytes from the entry of the function that holds the site: the symbol's own,
	// or the one that the symbol's thunk jumps to. In a cold fragment it may be negative.
	Delta      int32
	Address    uint64 // virtual address in the file
	FileOffset uint64 // what a uprobe attaches to
	// Pushed is how many bytes the function has put on the stack before this instruction: the stack pointer
	// at entry, where the return address lies, is rsp + Pushed.
	Pushed int32
	// Emulated says that the kernel emulates the instruction: a hit costs about 0.6 µs instead of 10.
	Emulated bool
}

// Present says whether the build has the function at all.
func (s Site) Present() bool { return s.Symbol != "" }

// Sites is where a build is probed. At an entry site the argument registers named here still hold the
// arguments.
type Sites struct {
	// Compile is Py_CompileStringObject(rdi source, rsi filename, edx start, rcx flags).
	Compile Site
	// CompileInlined says that compile() does not go through Compile (libpython3.15): use Compiles.
	CompileInlined bool
	// Compiles are the calls PySys_Audit("compile", "yO", rdx source, rcx filename), which every compile of a source passes.
	Compiles []Site
	// EvalCode is PyEval_EvalCode(rdi code).
	EvalCode Site
	// EvalReturns are where PyEval_EvalCode's result is seen. Each call that returns passes exactly one of them
	// that counts (see [ReturnSite]), exactly once.
	EvalReturns []ReturnSite
	// EvalReturnsComplete is false where PyEval_EvalCode may also return otherwise (a tail call).
	EvalReturnsComplete bool
	// Ends are where coroutines end that code in C drives: _PyGen_SetStopIterationValue, and the calls in its callers' code where the
	// compiler has put its body there.
	Ends []EndSite
	// Doubted are the exported functions that stand for a site here but that hardly anybody calls in this build: the compiler may have
	// put what they do elsewhere, where no probe sees it.
	Doubted []string
	// SetSignal is PyOS_setsig(edi signal, rsi handler).
	SetSignal Site
	// Prompt is PyOS_Readline.
	Prompt Site
	// Track is PyTraceMalloc_Track(edi domain, rsi address, rdx bytes); Untrack is
	// PyTraceMalloc_Untrack(edi domain, rsi address).
	Track, Untrack Site
	// CodeFreed is in what frees a code object: rdi code.
	CodeFreed Site
}

// Sites finds where to attach. A function that the build does not export has a zero Site. The error matches
// [ErrUnsupported] for a free-threaded build.
func (b *Binary) Sites() (Sites, error) {
	if err := b.refuse(); err != nil {
		return Sites{}, err
	}
	const rdi, rsi, rdx, rcx = x86asm.RDI, x86asm.RSI, x86asm.RDX, x86asm.RCX
	code := newCodeReader(b.image)
	s := Sites{
		EvalCode:  b.entrySite(code, evalCodeSymbol, rdi),
		SetSignal: b.entrySite(code, "PyOS_setsig", rdi, rsi),
		Prompt:    b.entrySite(code, "PyOS_Readline"),
		Track:     b.entrySite(code, "PyTraceMalloc_Track", rdi, rsi, rdx),
		Untrack:   b.entrySite(code, "PyTraceMalloc_Untrack", rdi, rsi),
		CodeFreed: b.codeFreedSite(code),
	}
	var thunk bool
	s.Compile, thunk = b.compileSite(code, rdi, rsi, rdx, rcx)
	s.CompileInlined = s.Compile.Present() && b.version.Minor >= 15 && !thunk
	refs := b.refer(stopSymbol, slices.Concat(makers, []string{endSymbol, auditSymbol}, doubtful)...)
	s.Ends, s.Doubted = b.endSites(code, refs)
	s.Compiles = b.compileCalls(code, refs)
	s.Doubted = append(s.Doubted, b.doubted(code, refs)...)
	s.EvalReturns, s.EvalReturnsComplete = b.returnSites(code, evalCodeSymbol, nil)
	return s, nil
}

// compileSite follows the thunk that Py_CompileStringObject is in static 3.15 builds, where compile() calls
// the thunk's target, _Py_CompileStringObjectWithModule, directly (Python/pythonrun.c).
func (b *Binary) compileSite(code *codeReader, args ...x86asm.Reg) (site Site, thunk bool) {
	const name = "Py_CompileStringObject"
	fn, ok := b.function(name)
	if !ok {
		return Site{}, false
	}
	if target, ok := thunkTarget(code, fn, args); ok {
		return b.siteIn(code, name, symbol{value: target, function: true}, args), true
	}
	return b.siteIn(code, name, fn, args), false
}

// thunkTarget returns where a function jumps to that does nothing else, the arguments being untouched.
func thunkTarget(code *codeReader, fn symbol, args []x86asm.Reg) (uint64, bool) {
	addr := fn.value
	for range 4 {
		in, ok := code.decode(addr)
		if !ok {
			return 0, false
		}
		if in.Op == x86asm.JMP {
			target, direct := in.target()
			inside := target >= fn.value && target-fn.value < fn.size
			return target, direct && !inside && code.image.executable(target)
		}
		if reg, known := in.writes(); !known || in.Op == x86asm.PUSH || reg == x86asm.RSP || slices.Contains(args, reg) {
			return 0, false
		}
		addr = in.end()
	}
	return 0, false
}

func (b *Binary) function(name string) (symbol, bool) {
	s, ok := b.image.symbols[name]
	return s, ok && s.function && b.image.executable(s.value)
}

func (b *Binary) entrySite(code *codeReader, name string, args ...x86asm.Reg) Site {
	fn, ok := b.function(name)
	if !ok {
		return Site{}
	}
	return b.siteIn(code, name, fn, args)
}

// maxPrologue bounds how far from the entry a site is looked for, in instructions.
const maxPrologue = 24

// siteIn chooses the first emulated instruction on the straight path from the entry that every call passes
// exactly once with args still in place, or else the entry itself.
func (b *Binary) siteIn(code *codeReader, name string, fn symbol, args []x86asm.Reg) Site {
	flow := exploreFunction(code, fn.value, fn.size)
	sp := stack{known: true}
	addr := fn.value
	for range maxPrologue {
		in, ok := code.decode(addr)
		if !ok || flow.targets[addr] { // what is jumped to from further on may run more than once
			break
		}
		if in.emulated() {
			return b.site(name, fn.value, addr, int32(sp.pushed), true)
		}
		reg, known := in.writes()
		if !known || slices.Contains(args, reg) {
			break
		}
		if sp.step(&in); !sp.known || sp.pushed < 0 || sp.pushed > codePage {
			break
		}
		addr = in.end()
	}
	return b.site(name, fn.value, fn.value, 0, false)
}

func (b *Binary) site(name string, entry, addr uint64, pushed int32, emulated bool) Site {
	off, ok := b.image.fileOffset(addr)
	if !ok {
		return Site{}
	}
	return Site{Symbol: name, Delta: int32(addr - entry), Address: addr, FileOffset: off, Pushed: pushed, Emulated: emulated}
}
