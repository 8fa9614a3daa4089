package event

// HolderKind says where the path to a block begins. If there are several paths, the earlier kind wins.
type HolderKind string

// The kinds, in their order.
const (
	HeldByVariable  HolderKind = "variable"  // a name that the user defined in __main__
	HeldByOutput    HolderKind = "output"    // IPython's Out, or _, __, ___, _7
	HeldByTraceback HolderKind = "traceback" // the exception that was shown last
	HeldByThread    HolderKind = "thread"    // a running frame, or another object of a thread
	HeldByModule    HolderKind = "module"    // an attribute of another module
	HeldByCycle     HolderKind = "cycle"     // a cycle of objects that waits for the garbage collector
	// HeldByNone: no path was found. In a complete walk: only code in C refers to the block.
	HeldByNone HolderKind = "none"
)

// The pools of which idle workers are recognized, as in Pool of [Holders].
const (
	PoolMultiprocessing = "multiprocessing.Pool"
	PoolExecutor        = "concurrent.futures.ProcessPoolExecutor"
	PoolLoky            = "joblib (loky)"
)

// Holder names the object that holds a block which was live when the session ended. All texts are hostile, like
// everything from a target.
type Holder struct {
	Address uint64 // of the block, as in [Change]
	// Size is that of a NumPy array's data by the array itself, if no change reported it; 0 for other blocks.
	Size       Bytes
	Kind       HolderKind
	Path       string // from the root to the object that has the block: cache['train'][3].weight, at most 512 bytes
	Root       string // the name at which the path begins, at most 128 bytes; "" if there is none
	Type       string // tp_name of that object, such as "numpy.ndarray", at most 128 bytes; "" if there is none
	References int64  // reference count of that object
	Output     int    // n of Out[n]; 0 if it is none of these
	// Function, File and Line belong to the frame on the path, if there is one. For a traceback and a thread, Path
	// begins with a local of that function.
	Function string
	File     string
	Line     int32 // 0 if not known
	// Probable: the path leads through a word of an object with an unknown layout, and another word may be the
	// reference instead.
	Probable bool
	Asked    Bytes // size that the tensor's storage requested; the allocator rounds up. 0 if not known
	// Running: the path begins in a frame of a thread that runs a cell. Only looks during the session ([Looked]) set
	// it.
	Running bool
	// Garbage is, for [HeldByCycle] and [HeldByNone], the relation of the block to the garbage collector; "" if no
	// object that the collector knows has the block.
	Garbage Garbage
	// Cyclic: the object at the beginning of the path is in a reference cycle. Without its name it waits for the
	// garbage collector.
	Cyclic bool
	// Class: the path begins at a class, or at a function with a cache of its results: they keep it, whatever becomes
	// of instances and results.
	Class bool
	// Lost is, for [GarbageLost], the cycle that does not go; nil for others.
	Lost *Lost
}

// Lost is a cycle of objects of which the garbage collector does not see every reference. All texts are hostile. It is
// the same for all blocks that the cycle holds; the zero value says that nothing more is known.
type Lost struct {
	Address uint64 // of one of its objects, which the collector knows
	Type    string // of that object
	Name    string // of a variable that has an object of the same type; "" for none
	Cuts    []Cut  // the objects that hide a reference of the cycle; at most 4
	More    bool   // there are more
}

// Cut is an object that hides references from the garbage collector.
type Cut struct {
	Path string // from [Lost].Address to the object, at most 512 bytes
	Type string
	Fill bool // an array of objects
}

// Garbage says how the garbage collector treats unreachable objects.
type Garbage string

// The cases. In the first four every reference to the objects is known and is in one of these objects.
const (
	GarbageWaits  Garbage = "waits"  // the next collection of all objects frees it
	GarbageOff    Garbage = "off"    // the same, but the collector is switched off
	GarbageFrozen Garbage = "frozen" // the collector leaves it alone: gc.freeze()
	GarbageLost   Garbage = "lost"   // it is in a cycle that the collector does not see, or only such a cycle has it
	// A reference was not found. It may be in an object of a type made in C; then this is garbage, too.
	GarbageYoung Garbage = "young" // the collector has not looked at all of these objects yet, or that is not known
	GarbageOld   Garbage = "old"   // they existed at the last collection of all objects
)

// Holders lists the holders of a process's live blocks at the end of the session. A long list comes as several of
// these, one after another.
type Holders struct {
	Time     Nanoseconds // when the walk over the process's objects began
	Root     uint32
	PID      int32
	Complete bool  // false: a limit was hit, and [HeldByNone] and [HeldByCycle] mean only that no path was found
	Objects  int64 // number of objects that the walk looked into
	// Pool names the pool of a process that is a worker and waits for the next task, such as [PoolMultiprocessing].
	// Such a process has no Holders.
	Pool    string
	Holders []Holder
	Views   []View // memory that only views hold
}

func (*Holders) isEvent() {}
