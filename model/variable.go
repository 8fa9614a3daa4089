package model

import (
	"slices"
	"strings"
)

// Variable is a name of a process at the end of the session. A Variable can also be a large object to which only a
// module, a traceback or a frame refers.
type Variable struct {
	PID int `json:"pid"`
	// x, Out[7], module.attribute, "locals of f()", "traceback of In[9]", "the last traceback"
	Name string   `json:"name"`
	Also []string `json:"also,omitempty"` // other names of the same object, 8 at most
	Kind string   `json:"kind"`           // "variable", "output", "traceback", "thread" or "module"
	Type string   `json:"type,omitempty"`
	// Shape and DType describe arrays, and objects made of arrays. Length is len(). Each is left out if it is
	// uncertain.
	Shape  []int64 `json:"shape,omitempty"`
	DType  string  `json:"dtype,omitempty"`
	Length *int64  `json:"length,omitempty"`
	// Bytes is the memory that would be freed with all names of the object, because nothing else holds it. Reaches is
	// all memory that the object leads to, shared or not, without classes and modules; 0 if it was not added up.
	Bytes   int64 `json:"bytes"`
	Reaches int64 `json:"reaches"`
	// Resident is the resident part of Bytes; nil if it is not known.
	Resident *int64 `json:"resident,omitempty"`
	// Maps are the resident parts of the object's memory maps, by the kinds of [ResidentPart]. They would be freed,
	// too, and are not in Bytes.
	Maps   []ResidentPart `json:"maps,omitempty"`
	Device int64          `json:"device,omitempty"` // GPU memory that would go
	// ViewBytes and BaseBytes are set for a view of memory that only views hold: the view uses ViewBytes of the
	// memory's BaseBytes.
	ViewBytes int64 `json:"view_bytes,omitempty"`
	BaseBytes int64 `json:"base_bytes,omitempty"`
	// Columns are the largest columns of a data frame, 8 at most. MoreColumns is the number of other columns, and
	// RestColumns is their bytes.
	Columns     []Column `json:"columns,omitempty"`
	MoreColumns int64    `json:"more_columns,omitempty"`
	RestColumns int64    `json:"more_columns_bytes,omitempty"`
	// Exact: Bytes and Device are the whole memory; else they are lower bounds.
	Exact bool `json:"exact"`
	// Stack allocated the object's largest piece, innermost call first; empty if it is not known. Execution and Line
	// are the cell and the line among these calls; 0 if there is none.
	Stack          []Frame `json:"stack"`
	Execution      int     `json:"execution,omitempty"`
	ExecutionCount *int    `json:"execution_count,omitempty"` // its In[N]
	Line           int     `json:"line,omitempty"`
	// Before: the largest piece existed at the attach.
	Before bool `json:"before,omitempty"`
	// Contents are facts about the elements of an array or a tensor; nil for other objects and small ones, and if
	// nobody requested them.
	Contents *Contents `json:"contents,omitempty"`
}

// Column is one column of a data frame. Bytes is the size of its elements. If these are objects, Bytes includes each
// object once, even if it has other holders.
type Column struct {
	Name  string `json:"name"`
	DType string `json:"dtype,omitempty"`
	Bytes int64  `json:"bytes"`
	Exact bool   `json:"exact"` // else a lower bound
	// Contents are facts about the column's elements; nil if there are no facts.
	Contents *Contents `json:"contents,omitempty"`
}

// Size returns the size by which variables are ranked: the memory that would be freed with the variable, or the memory
// that it leads to if that is more.
func (v *Variable) Size() int64 { return max(v.Bytes, v.Reaches) + v.Device + SumOf(v.Maps) }

// SumOf adds up parts.
func SumOf(parts []ResidentPart) (sum int64) {
	for _, p := range parts {
		sum += p.Bytes
	}
	return sum
}

// Names counts the names of a process that are in no list of variables, and the memory of all its Python objects.
type Names struct {
	PID      int   `json:"pid"`
	Unlisted int64 `json:"unlisted"` // names
	Bytes    int64 `json:"bytes"`    // memory that would go with these
	Objects  int64 `json:"objects"`  // bytes of all reachable Python objects
	Complete bool  `json:"complete"` // false: not all objects were looked at; all bytes are lower bounds
}

// Freeing is code for a cell that frees memory, with the amount that it frees.
type Freeing struct {
	PID int `json:"pid"`
	// Kernel is the name of the kernel in which to run the code, if the session has several.
	Kernel string `json:"kernel,omitempty"`
	// Type is one line of code. Its names are hostile, but they are Python names.
	Type string `json:"type"`
	// Predicted is the size of the blocks that the code frees: those that only these names together hold. Device is the
	// same for GPU memory.
	Predicted int64 `json:"predicted"`
	Device    int64 `json:"predicted_device,omitempty"`
	Exact     bool  `json:"exact"` // else a lower bound
	// InMemory is the resident part of Predicted; nil if it is not known.
	InMemory *int64 `json:"in_memory,omitempty"`
	// Maps are the resident parts of the memory maps that are freed, as in [Variable]. They are not in Predicted.
	Maps []ResidentPart `json:"maps,omitempty"`
	// Resident is by how much resident memory falls at once. Trims is by how much more it falls with malloc_trim(0).
	// Both are nil if they are not known. If there are several entries, the figures hold if the code is run in their
	// order. Trimmed: Type includes malloc_trim(0).
	Resident *int64 `json:"resident,omitempty"`
	Trims    *int64 `json:"trims,omitempty"`
	Trimmed  bool   `json:"trimmed,omitempty"`
	// Stays is the resident part that allocators keep even after malloc_trim(0), because other memory lies beside it.
	Stays int64 `json:"stays,omitempty"`
	// Small is the part in blocks below 64 KiB. New objects can use it, but it may stay resident.
	Small int64 `json:"small,omitempty"`
	// Names are the variables that the code frees, by [Variable.Name]. Shared is the part that is freed only together
	// with several of them.
	Names []string `json:"names"`
	// Collects: the code runs the garbage collector.
	Collects bool  `json:"collects,omitempty"`
	Shared   int64 `json:"shared,omitempty"`
}

// Falls returns by how much resident memory falls when the code of Type has run. If that is not known, it returns the
// size of the freed blocks.
func (f *Freeing) Falls() int64 {
	switch {
	case f.Resident == nil:
		return f.Predicted
	case f.Trimmed && f.Trims != nil:
		return *f.Resident + *f.Trims
	}
	return *f.Resident
}

// OfObjects reports whether Falls is the size of objects, because the fall of resident memory is not known.
func (f *Freeing) OfObjects() bool { return f.Resident == nil && f.Falls() > 0 }

// MallocTrim is the code that makes glibc's malloc return its free memory. No other C library has it.
const MallocTrim = "import ctypes; ctypes.CDLL(None).malloc_trim(0)"

// Resident divides the resident memory of a process at the end of the session.
type Resident struct {
	PID   int   `json:"pid"`
	Total int64 `json:"total"` // as /proc/PID/smaps has it; the parts add up to it
	// Trim is the memory that malloc_trim(0) would give back.
	Trim int64 `json:"trim"`
	// Complete is false if some memory was not looked at; that memory is in the part "other".
	Complete bool           `json:"complete"`
	Parts    []ResidentPart `json:"parts"`
	// Swapped is memory that was swapped out, and Huge is in huge pages of hugetlbfs. Neither is in Total, nor in any
	// meter of resident memory.
	Swapped int64 `json:"swapped,omitempty"`
	Huge    int64 `json:"huge,omitempty"`
}

// ResidentPart is resident memory of one kind: "objects" (Python's, of up to 512 bytes), "object-free" (room for more
// such objects), "malloc" (blocks in malloc's heaps), "malloc-big" (blocks that malloc mapped one by one),
// "malloc-free", "jemalloc" (blocks of jemalloc, and its own data), "jemalloc-free", the same of "mimalloc",
// "libraries" (the variables of libraries), "files" (pages of files), "shared", "stack", or "other" (not explained).
type ResidentPart struct {
	Kind  string `json:"kind"`
	Bytes int64  `json:"bytes"`
	// Returns is the part of what jemalloc or mimalloc keeps that it gives back if asked ([ResidentPart.GiveBack]).
	Returns int64 `json:"returns,omitempty"`
	// File is the allocator's library, or of a part of "shared" and "files" the file: one in /dev/shm, or a deleted
	// one. What differs between files of one origin is left out. It is hostile text.
	File string `json:"file,omitempty"`
}

// IsFile reports whether a part is that of a file, or of several with one origin.
func (p *ResidentPart) IsFile() bool {
	return p.File != "" && (p.Kind == "shared" || p.Kind == "files")
}

// givesBack has the calls by which allocators give back what they keep, by the kind of that.
var givesBack = map[string]string{
	"jemalloc-free": `mallctl(b"arena.4096.purge", None, None, None, 0)`, "mimalloc-free": "mi_collect(True)",
}

// GiveBack returns the code that makes an allocator return the free memory of a part. It returns "" for glibc's
// malloc, if the allocator has no library of its own, and if the library has no name that is safe in code.
func (p *ResidentPart) GiveBack() string {
	const safe = "abcdefghijklmnopqrstuvwxyz0123456789._+-"
	call, known := givesBack[p.Kind]
	if !known || p.File == "" || strings.Trim(strings.ToLower(p.File), safe) != "" {
		return ""
	}
	return `import ctypes; ctypes.CDLL("` + p.File + `").` + call
}

// interpreters are modules of the interpreter and of notebook software. Their names hold caches, which no code of the
// notebook frees.
var interpreters = []string{
	"IPython", "_frozen_importlib", "_sre", "_strptime", "abc", "asyncio", "builtins", "codecs", "comm", "copyreg",
	"ctypes", "debugpy", "dis", "encodings", "fnmatch", "functools", "gc", "importlib", "inspect", "ipykernel",
	"ipython_genutils", "ipywidgets", "jedi", "jupyter_client", "jupyter_core", "keyword", "linecache", "locale",
	"logging", "matplotlib_inline", "mimetypes", "opcode", "parso", "pkg_resources", "pkgutil", "prompt_toolkit",
	"pydevd", "pydoc_data", "pygments", "re", "site", "sre_compile", "sre_constants", "sre_parse", "stack_data", "sys",
	"sysconfig", "token", "tokenize", "tornado", "traceback", "traitlets", "types", "typing", "unicodedata", "warnings",
	"wcwidth", "zipimport", "zmq",
}

// IsInterpreters reports whether a variable is a name of a module of the interpreter, or of notebook software.
func (x *Variable) IsInterpreters() bool {
	if x.Kind != "module" {
		return false
	}
	root, _, _ := strings.Cut(x.Name, ".")
	return slices.Contains(interpreters, root)
}
