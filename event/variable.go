package event

// Variable is a name of a Python program at the end of a session. It may also be a large object that only a module, a
// traceback or a frame has. All texts are hostile, like everything from a target.
type Variable struct {
	Name string     // as the user types it: x, Out[7], module.attribute; of a frame "locals of f"
	Also []string   // other names of the same object, at most 8
	Kind HolderKind // of a variable, an output, a traceback, a thread or a module
	Type string     // tp_name, such as "numpy.ndarray", at most 128 bytes
	// Shape and DType describe arrays, tensors, data frames and sparse matrices; empty for others, or if uncertain.
	Shape  []int64
	DType  string
	Length int64 // its len(), -1 if that is not known
	// Bytes is the memory that would go with the object's names, because nothing else holds it. Reaches is all memory
	// that the object leads to, without classes and modules; 0 if it was not added up.
	Bytes   Bytes
	Reaches Bytes
	// Resident is the part of Bytes that is in memory, where [Variables.Resides] says that it is known.
	Resident Bytes
	// Maps are the resident parts of its memory maps, which would go as well, by kind: pages of files or shared memory.
	Maps []ResidencePart
	// Device is the GPU memory that would go, in bytes, by its tensors' storages.
	Device Bytes
	// Exact is false if Bytes is a lower bound: the walk was cut, or objects of libraries in C do not show all that
	// they hold.
	Exact bool
	// Block is the address of the largest piece of memory among these, and Size its size. Array: it is the data of an
	// array or a tensor, which meters know by this address.
	Block uint64
	Size  Bytes
	Array bool
	// Viewed is the part that it has of Base bytes of memory which only views hold; both are 0 for others.
	Viewed Bytes
	Base   Bytes
	// Columns are the largest columns of a data frame, 8 at most; MoreColumns is the number of the others, and
	// RestColumns is their size in bytes.
	Columns     []Column
	MoreColumns int64
	RestColumns Bytes
	// Codes are, for a traceback, the origins of the code of its outermost calls, 8 at most. One of them is the cell
	// that failed.
	Codes []Code
	// Contents are facts about the elements of an array or a tensor; nil for all others, for small ones, and if nobody
	// asked for them.
	Contents *Contents
	// PIDs are the processes that the object has started and ends with EndedBy, 256 at most, by the tracer's numbers:
	// a Popen's, a pool's, a client's of dask. Others than these may have ended.
	PIDs    []int32
	EndedBy EndMethod
}

// EndMethod is the method of an object that ends its processes; "" if none is known.
type EndMethod string

// The methods: of a process and of multiprocessing.Pool; of executors; of dask's clients and clusters.
const (
	EndTerminate EndMethod = "terminate"
	EndShutdown  EndMethod = "shutdown"
	EndClose     EndMethod = "close"
)

// Column is one column of a data frame. Bytes is the size of its elements. For objects it includes the objects
// themselves, each once, even if others have them, too.
type Column struct {
	Name  string // label in the index, as it is written; at most 64 bytes
	DType string // "" if uncertain
	Bytes Bytes
	Exact bool // false: Bytes is a lower bound
	// Contents are facts about its elements; nil if there are none.
	Contents *Contents
}

// Code is the origin of the code of a call.
type Code struct {
	File string // by the code itself, at most 192 bytes
	// Input is N of In[N] for the code of a cell that had run before the tracer could see it; 0 for all other code.
	Input int32
}

// Variables lists the memory of a process by name, at the end of the session.
type Variables struct {
	Time     Nanoseconds // when the walk over the process's objects began
	Root     uint32
	PID      int32
	Complete bool  // false: a limit was hit, and all bytes are lower bounds
	Objects  int64 // number of objects that the walk looked into
	Total    Bytes // of all objects that the walk reached
	Unlisted int64 // names that are not listed; Rest is the memory that would go with them
	Rest     Bytes
	// Early: the list was requested while the session ran, and does not describe its end.
	Early bool
	// SamePIDs: the process gives processes the same numbers as the tracer; false if that is not known.
	SamePIDs bool
	// Resides: where the blocks lie is known, and so what each share would give back. Trim is the free memory of
	// malloc's that malloc_trim(0) would give back already, without any of them.
	Resides   bool
	Trim      Bytes
	Memory    Bytes      // resident memory of the process after the look; 0: not known
	Variables []Variable // the largest first, by held or reached memory
	// Owners are the parts of memory that a user can let go of. Shares are the parts that go only with several of them
	// together. Memory of several owners that is in no share is little, or something else holds it, too.
	Owners []Owner
	Shares []Share
	// Ranged: Ranges has where the blocks of the shares lie, those of 1 KiB and more, by address.
	Ranged bool
	Ranges []HeldRange
}

// HeldRange is memory with blocks of one share.
type HeldRange struct {
	Address uint64
	Size    Bytes
	Share   int32 // its index
}

// Owner is a part that a user can let go of: all names of an object in the notebook, including those from IPython, the
// last exception, or objects that only wait for the garbage collector.
type Owner struct {
	Kind     HolderKind // a variable, an output, a traceback, or a cycle that waits for the collector
	Variable int32      // its index among the variables, -1 for none
	Names    []string   // in the notebook's namespace, without those from IPython; 8 at most
	More     bool       // there are more
	Output   string     // a name from IPython in the namespace, such as _2; "" for none
	Kept     bool       // IPython holds it, too: in Out, in its display hook
	Last     bool       // it is the result of the last cell that ran
	// Release is how it is let go of. Where that is not by deleting names, Names are attributes: x.y.z of a name of the
	// notebook's, or m:y.z of the module m.
	Release Release
	Tool    Tool
}

// Tool is a kind of objects that a notebook goes on needing, whatever memory they lead to.
type Tool string

// The kinds.
const (
	ToolNone      Tool = ""
	ToolName      Tool = "name"      // a module, a class, a function
	ToolOptimizer Tool = "optimizer" // PyTorch's
)

// Release is a way to let go of memory.
type Release string

// The ways. All but the first leave the object as it is, and take its contents.
const (
	ReleaseNames   Release = ""        // its names are deleted
	ReleaseCache   Release = "cache"   // cache_clear() of a function with a cache
	ReleaseClear   Release = "clear"   // clear() of a container
	ReleaseAttr    Release = "none"    // None is assigned to what it is called
	ReleaseFigures Release = "figures" // Matplotlib closes all figures
)

// OfShell begins expressions for attributes of IPython's shell.
const OfShell = "get_ipython()."

// Share is memory that some owners hold together, and nothing else does.
type Share struct {
	Owners []int32 // their indices, in ascending order
	Bytes  Bytes   // memory that would go with all of them
	// Resident is the part of Bytes that is in memory: of blocks of less than 64 KiB all. Frees is by how much resident
	// memory falls at once when exactly these owners have gone, and Trims by how much more with malloc_trim(0): whole
	// pages of malloc's heaps with blocks of each of them and of nobody else, and what was free between these. A share
	// may be of such pages alone, with no Bytes. All are known where [Variables.Resides] says so.
	Resident, Frees, Trims Bytes
	Maps                   []ResidencePart // resident parts of memory maps, by kind; they are in Frees
	Cyclic                 Bytes           // of these, the part that goes only when the garbage collector runs
	Small                  Bytes           // of these, the part in small blocks: allocators may keep it
	Device                 Bytes           // memory of GPUs that would go
	Exact                  bool            // false: it may be more
	Pieces                 []Piece         // its largest objects
}

// Mask returns the owners as bits of a word. A word has enough bits for the owners that a look lists.
func (s *Share) Mask() (mask uint64) {
	for _, o := range s.Owners {
		mask |= 1 << uint(o)
	}
	return mask
}

func (*Variables) isEvent() {}

// Piece is an object in memory. By it a later look finds out whether the object still exists.
type Piece struct {
	Address, Type uint64 // its address, and the address of its type
	Own, Size     Bytes  // bytes of the object itself, and with everything that only it has
}
