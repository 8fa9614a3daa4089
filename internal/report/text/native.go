package text

import (
	"slices"
	"strings"

	"ipytracer/model"
)

// cutNative folds the native frames of a stack, which are its innermost, to the first and the last called, "libx: f …
// g"; those without a name only if none has one. It returns them and the Python frames. For a thread without Python
// frames it leaves out the beginning that every thread has.
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
	first, last := calls[len(calls)-1], calls[0]
	if named := slices.DeleteFunc(slices.Clone(calls), isNameless); len(named) > 0 {
		last = named[0]
		if first.Function != "?" { // a frame is missing in front of it
			first = named[len(named)-1]
		}
	}
	native = nativeName(first, "")
	if first != last {
		native += " … " + nativeName(last, first.Module)
	}
	return native, stack[n:]
}

// isNameless reports whether a frame has little information for a reader: a place without a symbol, or the function by
// which PyTorch's allocator reports.
func isNameless(f model.Frame) bool {
	return f.Function == "?" || strings.HasPrefix(f.Function, f.Module+"+0x") ||
		strings.HasPrefix(f.Function, "c10::reportMemoryUsage") ||
		strings.HasPrefix(f.Function, "c10::reportOutOfMemory")
}

// nativeName returns "libx: f", or "libx+0x12ab" without a symbol; without the module if the reader knows it already.
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

// startsThreads reports whether every thread begins in a module: the C library, and C++'s.
func startsThreads(module string) bool {
	return strings.HasPrefix(module, "libc.so") || strings.HasPrefix(module, "libpthread") ||
		strings.HasPrefix(module, "libstdc++.so")
}
