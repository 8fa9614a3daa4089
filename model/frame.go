package model

import "strings"

// Frame is one call on a stack.
type Frame struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"` // from 1; 0 if not known
	// Native: the call is of machine code, not of Python. Function is then a demangled symbol, or "?" for unknown
	// calls. Module is the name of the ELF file, without its directory.
	Native bool   `json:"native,omitempty"`
	Module string `json:"module,omitempty"`
	// Execution is the cell of this code; 0 for code of a file, and of a cell that ran before the session.
	// ExecutionCount is the N of the cell's In[N].
	Execution      int  `json:"execution,omitempty"`
	ExecutionCount *int `json:"execution_count,omitempty"`
	// Kernel is the name of that cell's kernel, if the session has several.
	Kernel string `json:"kernel,omitempty"`
}

// InCell reports whether the code belongs to a cell, even one that ran before the session.
func (f *Frame) InCell() bool { return f.Execution > 0 || f.ExecutionCount != nil }

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

// Place is a line of a run of a cell.
type Place struct {
	Execution int `json:"execution"`
	// ExecutionCount is In[N], 0 for none.
	ExecutionCount int `json:"execution_count"`
	Line           int `json:"line"` // 0 if not known
}
