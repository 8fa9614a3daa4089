package report

import (
	"slices"
	"strings"
)

// cutNative folds the native frames of a stack, which are its innermost, to those that were called first and last, "libx: f … g".
// It returns them and the Python frames. Of a thread that has none, what every thread begins with is left out.
func cutNative(stack []Frame) (native string, python []Frame) {
	n := slices.IndexFunc(stack, func(f Frame) bool { return !f.Native })
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
	native = nativeName(first, "")
	if len(calls) > 1 {
		native += " … " + nativeName(last, first.Module)
	}
	return native, stack[n:]
}

// nativeName is "libx: f", or "libx+0x12ab" where no symbol is known; without the module where the reader knows it already.
func nativeName(f Frame, known string) string {
	name, separator := f.Function, ": "
	if offset, ok := strings.CutPrefix(name, f.Module+"+0x"); ok {
		name, separator = "+0x"+offset, ""
	}
	if f.Module == "" || f.Module == known {
		return name
	}
	return shortModule(f.Module) + separator + name
}

// shortModule is a library's name without what follows it: "_multiarray_umath" of _multiarray_umath.cpython-311-x86_64-linux-gnu.so.
func shortModule(module string) string {
	for _, end := range []string{".cpython-", ".abi3", ".so"} {
		if i := strings.Index(module, end); i > 0 {
			module = module[:i]
		}
	}
	return module
}

// startsThreads says whether a module is of those in which every thread begins: the C library, and C++'s.
func startsThreads(module string) bool {
	return strings.HasPrefix(module, "libc.so") || strings.HasPrefix(module, "libpthread") || strings.HasPrefix(module, "libstdc++.so")
}
