package model

// Variable is a name that a process has at the end of the session, or what is large and only a module, a traceback or a frame
// has.
type Variable struct {
	PID  int      `json:"pid"`
	Name string   `json:"name"`           // x, Out[7], module.attribute, "locals of f()", "traceback of In[9]", "the last traceback"
	Also []string `json:"also,omitempty"` // other names of the same object, 8 at most
	Kind string   `json:"kind"`           // "variable", "output", "traceback", "thread" or "module"
	Type string   `json:"type,omitempty"`
	// Shape and DType are of arrays and what is made of them, Length is len(); left out where that is not sure.
	Shape  []int64 `json:"shape,omitempty"`
	DType  string  `json:"dtype,omitempty"`
	Length *int64  `json:"length,omitempty"`
	// Bytes would go with all its names: what nothing else holds. Reaches is all that it leads to, shared or not, without
	// classes and modules; 0 where that was not added up.
	Bytes   int64 `json:"bytes"`
	Reaches int64 `json:"reaches"`
	Device  int64 `json:"device,omitempty"` // GPU memory that would go
	// ViewBytes are the bytes that it uses of memory of BaseBytes which only views hold; 0 for others.
	ViewBytes int64 `json:"view_bytes,omitempty"`
	BaseBytes int64 `json:"base_bytes,omitempty"`
	// Columns are those of a data frame that take most, 8 at most; MoreColumns is how many there are besides, and RestColumns what these take together.
	Columns     []Column `json:"columns,omitempty"`
	MoreColumns int64    `json:"more_columns,omitempty"`
	RestColumns int64    `json:"more_columns_bytes,omitempty"`
	// Exact: Bytes and Device are all of it; else they are the least.
	Exact bool `json:"exact"`
	// Stack is who made the largest piece of it, innermost call first; empty where that is not known. Execution and Line are
	// of the cell among these calls, 0 for none.
	Stack          []Frame `json:"stack"`
	Execution      int     `json:"execution,omitempty"`
	ExecutionCount *int    `json:"execution_count,omitempty"` // its In[N]
	Line           int     `json:"line,omitempty"`
	// Before: that piece was there at the attach.
	Before bool `json:"before,omitempty"`
}

// Column is one of a data frame. Bytes is what its elements take and, of objects, what these take themselves, each once, others that have them or not.
type Column struct {
	Name  string `json:"name"`
	DType string `json:"dtype,omitempty"`
	Bytes int64  `json:"bytes"`
	Exact bool   `json:"exact"` // else it is the least
}

// Size is what a variable is ranked by: what would go with it, or what it leads to if that is more.
func (v *Variable) Size() int64 { return max(v.Bytes, v.Reaches) + v.Device }

// Names is how many names a process has that are in no list of variables, and what all its Python objects take.
type Names struct {
	PID      int   `json:"pid"`
	Unlisted int64 `json:"unlisted"` // names
	Bytes    int64 `json:"bytes"`    // that would go with these
	Objects  int64 `json:"objects"`  // bytes of all Python objects that anything leads to
	Complete bool  `json:"complete"` // false: not all objects were looked at; all bytes are the least
}

// Freeing is code that frees memory if it is typed into a cell, and how much.
type Freeing struct {
	PID int `json:"pid"`
	// Type is one line; hostile as to its names only, which are names in Python.
	Type string `json:"type"`
	// Predicted is how many bytes of blocks go: what the names hold together and nothing else does. Device is likewise memory of GPUs.
	Predicted int64 `json:"predicted"`
	Device    int64 `json:"predicted_device,omitempty"`
	Exact     bool  `json:"exact"` // else it is the least
	// Small is how many of the bytes are in blocks of less than 64 KiB: they are free for new objects, but may stay resident.
	Small int64 `json:"small,omitempty"`
	// Names are the variables that it lets go of, by [Variable.Name]. Shared is how many of the bytes go with several of them only, not with one.
	Names  []string `json:"names"`
	Shared int64    `json:"shared,omitempty"`
}

// Resident says where the resident memory of a process is at the end of the session.
type Resident struct {
	PID   int   `json:"pid"`
	Total int64 `json:"total"` // as /proc/PID/smaps has it; the parts add up to it
	// Trim is what malloc_trim(0) would give back of what malloc keeps free.
	Trim int64 `json:"trim"`
	// Complete: false where not everything was looked at; that is in the part "other".
	Complete bool           `json:"complete"`
	Parts    []ResidentPart `json:"parts"`
}

// ResidentPart is resident memory of one kind: "objects" (Python's, of up to 512 bytes), "object-free" (room for more of them), "malloc"
// (blocks in malloc's heaps), "malloc-big" (those it mapped one by one), "malloc-free", "libraries" (their variables), "files" (pages of
// files), "shared", "stack", or "other": not explained.
type ResidentPart struct {
	Kind  string `json:"kind"`
	Bytes int64  `json:"bytes"`
}
