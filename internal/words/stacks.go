package words

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"ipytracer/model"
)

// CallPath is a stack in words, from the cell inwards: the lines of cells and of the user's own files. The calls inside
// a library are folded to the called function, the number of further calls, and their packages. Tables join paths that
// differ only in that number, so it is a field of its own.
type CallPath struct {
	before, after string // the texts in front of the number and behind it
	Calls         int
}

// Stack returns a stack in words, such as "In[3] line 2 › ones". The text is hostile, like the stack itself.
func Stack(stack []model.Frame) string { return PathOf(stack).Text(0) }

// Text returns the path in words. most is the largest number of calls among the paths that were joined to this one, or
// 0 if none was.
func (p CallPath) Text(most int) string {
	text := p.before
	switch {
	case p.Calls > 0 && most > p.Calls:
		text += fmt.Sprintf(" … %d to %s", p.Calls, Plural(most, "call"))
	case p.Calls > 0:
		text += " … " + Plural(p.Calls, "call")
	}
	return text + p.after
}

// Key returns the path without the number of calls: equal keys mean paths that tables join.
func (p CallPath) Key() string { return p.before + "\x00" + p.after }

// maxParts is the largest number of shown calls of a stack: the first, and the last ones.
const maxParts = 4

// PathOf returns the path of a stack.
func PathOf(stack []model.Frame) CallPath {
	if len(stack) == 0 {
		return CallPath{before: "(no Python code, or not known)"}
	}
	if len(stack) == 1 && stack[0].IsNowhere() {
		return CallPath{before: stack[0].Function}
	}
	native, stack := cutNative(stack)
	var parts []string
	stack, isHook := withoutKernel(stack)
	if isHook {
		parts = append(parts, "display and hooks")
	}
	var library []model.Frame // a run of calls in libraries, outermost first
	for i := len(stack) - 1; i >= 0; i-- {
		f := stack[i]
		if !f.InCell() && model.IsLibrary(f.File) {
			library = append(library, f)
			continue
		}
		if len(library) > 0 && len(parts) > 0 { // a library calls the user's code back
			parts = append(parts, calledIn(library))
		}
		library = nil
		if !isComprehension(f) || i == len(stack)-1 || !sameCode(f, stack[i+1]) {
			parts = append(parts, Frame(&f))
		}
	}
	var p CallPath
	if len(library) > 0 {
		parts = append(parts, calledIn(library))
		p.Calls, p.after = callsIn(library)
	}
	if native != "" {
		if p.Calls > 0 {
			p.after += " › " + native
		} else {
			if len(stack) == 0 {
				native = "(native) " + native
			}
			parts = append(parts, native)
		}
	}
	if n := len(parts); n > maxParts {
		parts = slices.Concat(parts[:1], []string{"…"}, parts[n-maxParts+1:])
	}
	p.before = strings.Join(parts, " › ")
	return p
}

// Frame returns a line of a cell or of a file: "In[4] line 2 make", "train.py line 17 step".
func Frame(f *model.Frame) string {
	where := FrameCell(f)
	if where == "" {
		where = path.Base(f.File)
	}
	return inLine(where, f.Line, f.Function)
}

// kernelPackages have the code that runs a kernel's cells.
var kernelPackages = []string{
	"runpy", "ipykernel_launcher", "traitlets", "tornado", "asyncio", "ipykernel", "IPython",
}

// withoutKernel returns a stack without the kernel's own calls around it, if no call in it is the user's. isHook
// reports whether IPython made the call behind a cell's code: to show a value, or a hook.
func withoutKernel(stack []model.Frame) (inner []model.Frame, isHook bool) {
	if _, users := model.Users(stack); users {
		return stack, false
	}
	for i, f := range stack {
		if i > 0 && (strings.HasSuffix(f.File, "/IPython/core/events.py") ||
			strings.HasSuffix(f.File, "/IPython/core/displayhook.py")) {
			return stack[:i], true
		}
	}
	for n := len(stack); n > 1; n-- {
		f := stack[n-1]
		if !slices.Contains(kernelPackages, packageOf(f.File)) && f.File != "<frozen runpy>" {
			return stack[:n], false
		}
	}
	return stack[:min(len(stack), 1)], false
}

// withoutWrappers returns calls without the wrappers that decorators made; the first call if all are wrappers.
func withoutWrappers(calls []model.Frame) []model.Frame {
	if others := slices.DeleteFunc(slices.Clone(calls), isWrapper); len(others) > 0 {
		return others
	}
	return calls[:1]
}

// calledIn returns the function of a library that the user's code called. calls are the library's, the outermost first.
func calledIn(calls []model.Frame) string {
	if first := withoutWrappers(calls)[0]; packageOf(first.File) != imports {
		return first.Function
	}
	return imports
}

// imports stands for the interpreter's own functions that import modules.
const imports = "import"

// callsIn returns the number of calls that the function of [calledIn] made further inwards, and their outermost and
// innermost package: " in sklearn, numpy".
func callsIn(calls []model.Frame) (n int, where string) {
	calls = withoutWrappers(calls)[1:]
	var packages []string
	for _, f := range calls {
		if p := packageOf(f.File); p != "" && p != imports && !slices.Contains(packages, p) {
			packages = append(packages, p)
		}
	}
	if len(packages) > 0 { // the user knows the outermost package, and the innermost one allocates
		where = " in " + packages[0]
	}
	if n := len(packages); n > 1 {
		where += ", " + packages[n-1]
	}
	return len(calls), where
}

// wrappers are usual names of functions that decorators put around another one. Before Python 3.11 a function's name
// does not contain the function that made it, so that [isWrapper] needs this list.
var wrappers = []string{
	"wrapper", "wrapped", "inner", "inner_f", "_inner", "new_func", "_wrapper", "new_method", "_decorate_function",
	"decorate_context",
}

// isWrapper reports whether a frame's function is one that a decorator put around another function.
func isWrapper(f model.Frame) bool {
	if strings.HasPrefix(f.File, "<__array_function__") || strings.HasSuffix(f.File, "/functools.py") ||
		strings.HasSuffix(f.File, "/contextlib.py") {
		return true
	}
	return strings.Contains(f.Function, ".<locals>.") || slices.Contains(wrappers, f.Function)
}

// cutLast cuts around the last separator. Without a separator it returns the whole text as the part after it.
func cutLast(s, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(s, separator); i >= 0 {
		return s[:i], s[i+len(separator):], true
	}
	return "", s, false
}

// packageOf returns the package of a library's file: sklearn, numpy; "" for the interpreter's own.
func packageOf(file string) string {
	for _, installed := range []string{"/site-packages/", "/dist-packages/"} {
		if _, rest, found := cutLast(file, installed); found {
			first, _, _ := strings.Cut(rest, "/")
			return strings.TrimSuffix(first, ".py")
		}
	}
	if strings.HasPrefix(file, "<frozen importlib") {
		return imports
	}
	if _, rest, found := strings.Cut(file, "/lib/python3"); found {
		_, rest, _ = strings.Cut(rest, "/")
		first, _, _ := strings.Cut(rest, "/")
		return strings.TrimSuffix(path.Base(first), ".py")
	}
	return ""
}

// isComprehension reports whether a frame belongs to a comprehension or a generator expression. Such a frame says no
// more than the line around it.
func isComprehension(f model.Frame) bool {
	for _, end := range []string{"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"} {
		if strings.HasSuffix(f.Function, end) {
			return true
		}
	}
	return false
}

// sameCode reports whether two frames are on the same line of the same code.
func sameCode(a, b model.Frame) bool {
	return a.File == b.File && a.Line == b.Line && a.Execution == b.Execution
}

// cutNative splits a stack into its native frames, which are the innermost, and its Python frames. native is the text
// of the outermost and the innermost native frame: "libx: f … g". Frames without a name appear only if no frame has a
// name. For a thread without Python frames, cutNative leaves out the frames with which every thread begins.
func cutNative(stack []model.Frame) (native string, python []model.Frame) {
	n := slices.IndexFunc(stack, func(f model.Frame) bool { return !f.Native })
	if n < 0 {
		n = len(stack)
	}
	calls := stack[:n]
	if n == len(stack) {
		for len(calls) > 1 && startsThreads(calls[len(calls)-1].Module) {
			calls = calls[:len(calls)-1]
		}
	}
	if len(calls) == 0 {
		return "", stack
	}
	outermost, innermost := calls[len(calls)-1], calls[0]
	if named := slices.DeleteFunc(slices.Clone(calls), isNameless); len(named) > 0 {
		innermost = named[0]
		if outermost.Function != "?" { // "?" is kept: it says that frames are missing
			outermost = named[len(named)-1]
		}
	}
	native = nativeName(outermost, "")
	if outermost != innermost {
		native += " … " + nativeName(innermost, outermost.Module)
	}
	return native, stack[n:]
}

// isNameless reports whether a frame tells a reader little: it has no symbol, or is the function by which PyTorch's
// allocator reports to its profiler.
func isNameless(f model.Frame) bool {
	return f.Function == "?" || strings.HasPrefix(f.Function, f.Module+"+0x") ||
		strings.HasPrefix(f.Function, "c10::reportMemoryUsage") ||
		strings.HasPrefix(f.Function, "c10::reportOutOfMemory")
}

// nativeName returns "libx: f", or "libx+0x12ab" for a frame without a symbol. It leaves out the module if that is
// known.
func nativeName(f model.Frame, known string) string {
	name, separator := f.Function, ": "
	if offset, ok := strings.CutPrefix(name, f.Module+"+0x"); ok {
		name, separator = "+0x"+offset, ""
	}
	if f.Module == "" || f.Module == known {
		return name
	}
	return shortModule(f.Module) + separator + name
}

// shortModule returns a library's name without its suffix: "_multiarray_umath" of
// _multiarray_umath.cpython-311-….so.
func shortModule(module string) string {
	for _, end := range []string{".cpython-", ".abi3", ".so"} {
		if i := strings.Index(module, end); i > 0 {
			module = module[:i]
		}
	}
	return module
}

// startsThreads reports whether a module has the functions with which every thread begins: the C library, or C++'s.
func startsThreads(module string) bool {
	return strings.HasPrefix(module, "libc.so") || strings.HasPrefix(module, "libpthread") ||
		strings.HasPrefix(module, "libstdc++.so")
}
