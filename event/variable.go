package event

// Variable is a name of a Python program at the end of a session. A Variable can also be a large object to which only a
// module, a traceback or a frame refers. All texts are hostile, like everything from a target.
type Variable struct {
	Name string     // as the user types it: x, Out[7], module.attribute; of a frame "locals of f"
	Also []string   // other names of the same object, at most 8
	Kind HolderKind // of a variable, an output, a traceback, a thread or a module
	Type string     // tp_name, such as "numpy.ndarray", at most 128 bytes
	// Shape and DType describe arrays, tensors, data frames and sparse matrices; empty for others, or if uncertain.
	Shape  []int64
	DType  string
	Length int64 // its len(), -1 if that is not known
	// Bytes is the memory that would be freed with the object's names, because nothing else holds it. Reaches is all
	// memory that the object leads to, without classes and modules; 0 if it was not added up.
	Bytes   Bytes
	Reaches Bytes
	// Resident is the resident part of Bytes; known only if [Variables.Resides] is set.
	Resident Bytes
	// Maps are the resident parts of its memory maps, by kind (pages of files, or shared memory): they would be freed,
	// too.
	Maps []ResidencePart
	// Device is the GPU memory that would be freed, by the storages of its tensors.
	Device Bytes
	// Exact is false if Bytes is a lower bound: a limit ended the walk, or objects of libraries in C do not show all
	// that they hold.
	Exact bool
	// Block and Size are the address and the size of the largest piece of this memory. Array: the piece is the data of
	// an array or a tensor, which meters know by this address.
	Block uint64
	Size  Bytes
	Array bool
	// Viewed is the size of its views of memory that only views hold, and Base the size of that memory; 0 for others.
	Viewed Bytes
	Base   Bytes
	// Columns are the largest columns of a data frame, 8 at most; MoreColumns is the number of the others, and
	// RestColumns is their size in bytes.
	Columns     []Column
	MoreColumns int64
	RestColumns Bytes
	// Codes are the origins of the code of a traceback's outermost calls, at most 8. One of them is the cell that
	// failed.
	Codes []Code
	// Contents are facts about the elements of an array or a tensor; nil for other and for small objects, and if nobody
	// requested them.
	Contents *Contents
	// PIDs are processes that the object has started and that its method EndedBy ends, at most 256, as the tracer
	// numbers them: those of a Popen, of a pool, or of a client of dask. Some may have ended.
	PIDs    []int32
	EndedBy EndMethod
}

// EndMethod is the method of an object that ends its processes; "" if none is known.
type EndMethod string

// The methods: terminate() of a process and of multiprocessing.Pool, shutdown() of executors, close() of dask's clients
// and clusters.
const (
	EndTerminate EndMethod = "terminate"
	EndShutdown  EndMethod = "shutdown"
	EndClose     EndMethod = "close"
)

// Column is one column of a data frame. Bytes is the size of its elements. If they are objects, Bytes includes each
// object once, even if it has other holders.
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
	// Early: the list was made while the session ran, on request. It does not describe the session's end.
	Early bool
	// SamePIDs: processes have the same numbers for this process as for the tracer; false if that is not known.
	SamePIDs bool
	// Resides: the place of each block is known, so it is known how much memory Linux would get back for each share.
	// Trim is the memory that malloc_trim(0) would give back now, before anything is freed.
	Resides   bool
	Trim      Bytes
	Memory    Bytes      // resident memory of the process after the look; 0: not known
	Variables []Variable // the largest first, by held or reached memory
	// Owners are the objects that a user can free. A share is memory that is freed only together with several owners.
	// Memory of several owners that is in no share is small, or has another holder, too.
	Owners []Owner
	Shares []Share
	// Ranged: Ranges is known. It has the places of the shares' blocks of 1 KiB or more, by address.
	Ranged bool
	Ranges []HeldRange
}

// HeldRange is a range of memory with blocks of one share.
type HeldRange struct {
	Address uint64
	Size    Bytes
	Share   int32 // its index
}

// Owner is an object that a user can free, with all its names in the notebook: a variable, IPython's names for outputs,
// the last exception, or objects that only wait for the garbage collector.
type Owner struct {
	Kind     HolderKind // a variable, an output, a traceback, or a cycle that waits for the collector
	Variable int32      // its index among the variables, -1 for none
	Names    []string   // in the notebook's namespace, without those from IPython; 8 at most
	More     bool       // there are more
	Output   string     // a name from IPython in the namespace, such as _2; "" for none
	Kept     bool       // IPython holds it, too: in Out, in its display hook
	Last     bool       // it is the result of the last cell that ran
	// Release is the way to free the object. If the way is not to delete names, then Names are attributes: x.y.z of a
	// name in the notebook, or m:y.z of the module m.
	Release Release
	Tool    Tool
}

// Tool is a kind of object that a notebook still needs, however much memory it leads to.
type Tool string

// The kinds.
const (
	ToolNone      Tool = ""
	ToolName      Tool = "name"      // a module, a class, a function
	ToolOptimizer Tool = "optimizer" // PyTorch's
)

// Release is a way to free memory.
type Release string

// The ways. All but the first keep the object, and empty it.
const (
	ReleaseNames   Release = ""        // its names are deleted
	ReleaseCache   Release = "cache"   // cache_clear() of a function with a cache
	ReleaseClear   Release = "clear"   // clear() of a container
	ReleaseAttr    Release = "none"    // None is assigned to what it is called
	ReleaseFigures Release = "figures" // Matplotlib closes all figures
)

// OfShell is the prefix of expressions for attributes of IPython's shell.
const OfShell = "get_ipython()."

// Share is memory that some owners hold together, and that nothing else holds.
type Share struct {
	Owners []int32 // their indices, in ascending order
	Bytes  Bytes   // memory that would go with all of them
	// The next three are known only if [Variables.Resides] is set.
	//
	// Resident is the resident part of Bytes; blocks below 64 KiB count as resident. Frees is by how much resident
	// memory falls at once when exactly these owners are freed. Trims is by how much more it falls with
	// malloc_trim(0): whole pages of malloc's heaps that have blocks of each of these owners and of nobody else, with
	// the free memory between the blocks. A share may consist of such pages alone, and then has no Bytes.
	Resident, Frees, Trims Bytes
	Maps                   []ResidencePart // resident parts of memory maps, by kind; they are in Frees
	Cyclic                 Bytes           // of these, the part that goes only when the garbage collector runs
	Small                  Bytes           // of these, the part in small blocks: allocators may keep it
	Device                 Bytes           // memory of GPUs that would go
	Exact                  bool            // false: it may be more
	Pieces                 []Piece         // its largest objects
}

// Mask returns a word with a bit for each owner. A look lists at most as many owners as a word has bits.
func (s *Share) Mask() (mask uint64) {
	for _, o := range s.Owners {
		mask |= 1 << uint(o)
	}
	return mask
}

func (*Variables) isEvent() {}

// Piece is an object in memory. A later look finds by it whether the object still exists.
type Piece struct {
	Address, Type uint64 // its address, and the address of its type
	Own, Size     Bytes  // bytes of the object itself, and with everything that only it has
}
