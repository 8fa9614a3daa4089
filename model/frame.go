package model

import "strings"

// IsNowhere reports whether a frame has no code. Such a frame describes in words memory without an observed allocation.
func (f *Frame) IsNowhere() bool { return f.File == "" && f.Line == 0 && !f.Native && !f.InCell() }

// IsLibrary reports whether a Python file is not the user's own: it belongs to the standard library, an installed
// package, or the interpreter. It is true without a file.
func IsLibrary(file string) bool {
	return file == "" || strings.HasPrefix(file, "<frozen ") || strings.HasPrefix(file, "<__array_function__") ||
		strings.Contains(file, "/site-packages/") ||
		strings.Contains(file, "/dist-packages/") || strings.Contains(file, "/lib/python3")
}

// Users returns the innermost call of a stack that is on a line of a cell or of the user's own files. Without such a
// call it returns the outermost Python call, and false.
func Users(stack []Frame) (f Frame, users bool) {
	for _, f := range stack {
		if f.InCell() || !f.Native && !IsLibrary(f.File) {
			return f, true
		}
	}
	for i := len(stack) - 1; i >= 0; i-- {
		if !stack[i].Native {
			return stack[i], false
		}
	}
	return Frame{}, false
}
