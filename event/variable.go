package event

// Variable is a name of a Python's, or what is large and only a module, a traceback or a frame has, at the end of a
// session. All texts are hostile, as everything that came out of a target.
type Variable struct {
	Name string     // as one types it: x, Out[7], module.attribute; of a frame "locals of f"
	Also []string   // other names of the same object, at most 8
	Kind HolderKind // of a variable, an output, a traceback, a thread or a module
	Type string     // tp_name, such as "numpy.ndarray", at most 128 bytes
	// Shape and DType are of arrays, tensors, data frames and sparse matrices; empty where there is none or it is not sure.
	Shape  []int64
	DType  string
	Length int64 // len() of it, -1 where that is not known
	// Bytes would go with the object's names: what nothing else holds. Reaches is all that it leads to, classes and modules left out,
	// 0 where that was not added up.
	Bytes   Bytes
	Reaches Bytes
	// Device is GPU memory among what would go, in bytes; its tensors' storages say so themselves.
	Device Bytes
	// Exact is false where Bytes is only the least: the walk was cut, or there are objects of libraries in C that do not say what else
	// they have.
	Exact bool
	// Block is the address of the largest piece of memory among these and Size how large it is; Array says that it is the
	// data of an array or a tensor, which the meters of such blocks know by this address.
	Block uint64
	Size  Bytes
	Array bool
	// Viewed is how many bytes it has of memory of Base bytes that only views hold; both are 0 for others.
	Viewed Bytes
	Base   Bytes
	// Columns are those of a data frame that take most, 8 at most; MoreColumns is how many there are besides, and RestColumns what these take.
	Columns     []Column
	MoreColumns int64
	RestColumns Bytes
	// Codes are, of a traceback, where the code of its outermost calls is from, 8 at most: one of them is the cell that failed.
	Codes []Code
}

// Column is one of a data frame. Bytes is what its elements take and, of objects, what these take themselves, each once, others that have them or not.
type Column struct {
	Name  string // as a label of the index is written, at most 64 bytes
	DType string // "" where that is not sure
	Bytes Bytes
	Exact bool // false: Bytes is only the least
}

// Code is where a call's code is from.
type Code struct {
	File  string // as the code says, at most 192 bytes
	Input int32  // N of In[N], if it is the code of a cell that had run before it could be seen to; 0 for all other code
}

// Variables says by name what a process has at the end of the session.
type Variables struct {
	Time     Nanoseconds // when the walk over the process's objects began
	Root     uint32
	PID      int32
	Complete bool  // false: a limit was hit, and all bytes are only the least
	Objects  int64 // that were looked into
	Total    Bytes // of all objects that were reached
	Unlisted int64 // names that are not here, and what would go with these
	Rest     Bytes
	// Early: it was asked for while the session ran, and says nothing of its end.
	Early     bool
	Variables []Variable // what holds or reaches most first
	// Owners are what can be let go of, and Shares what goes with some of them together: what of several owners is in no share is held by
	// something else as well, or is little.
	Owners []Owner
	Shares []Share
}

// Owner is what a user can let go of: all names of an object in the notebook, those that IPython gives included, the last exception, or what
// only waits for the garbage collector.
type Owner struct {
	Kind     HolderKind // of a variable, an output, a traceback, or a cycle: what waits for the collector
	Variable int32      // its index among the variables, -1 for none
	Names    []string   // in the notebook's namespace, without those that IPython gives; 8 at most
	More     bool       // there are more
	Output   string     // a name that IPython has given it in the namespace, such as _2; "" for none
	Kept     bool       // IPython keeps it besides: in Out, in its display hook
	Last     bool       // it is the result of the cell that ran last
}

// Share is what some owners hold together and nothing else does.
type Share struct {
	Owners []int32 // which, in order
	Bytes  Bytes   // would go with all of them
	Cyclic Bytes   // of these, what goes when the garbage collector runs, and not before
	Small  Bytes   // of these, what is in small blocks: allocators may keep it
	Device Bytes   // memory of GPUs that would go
	Exact  bool    // false: it may be more
	Pieces []Piece // its largest objects
}

func (*Variables) isEvent() {}
