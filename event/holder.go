package event

// HolderKind says where the path to a block begins. If several paths lead to a block, the kind that is listed first
// wins.
type HolderKind string

// The kinds, in their order.
const (
	HeldByVariable  HolderKind = "variable"  // a name that the user defined in __main__
	HeldByOutput    HolderKind = "output"    // IPython's Out, or _, __, ___, _7
	HeldByTraceback HolderKind = "traceback" // the exception that was shown last
	HeldByThread    HolderKind = "thread"    // a running frame, or another object of a thread
	HeldByModule    HolderKind = "module"    // an attribute of another module
	HeldByCycle     HolderKind = "cycle"     // a cycle of objects that waits for the garbage collector
	// HeldByNone: no path was found. If the walk was complete, only code in C refers to the block.
	HeldByNone HolderKind = "none"
)

// The pools whose idle workers the tracer recognizes, as values of [Holders.Pool].
const (
	PoolMultiprocessing = "multiprocessing.Pool"
	PoolExecutor        = "concurrent.futures.ProcessPoolExecutor"
	PoolLoky            = "joblib (loky)"
)

// Holder names the object that holds a block which was live when the session ended. All texts are hostile, like
// everything from a target.
type Holder struct {
	Address uint64 // of the block, as in [Change]
	// Size is the size of a NumPy array's data according to the array, if no change reported the block; 0 for others.
	Size       Bytes
	Kind       HolderKind
	Path       string // from the root to the object that has the block: cache['train'][3].weight, at most 512 bytes
	Root       string // the name at which the path begins, at most 128 bytes; "" if there is none
	Type       string // tp_name of that object, such as "numpy.ndarray", at most 128 bytes; "" if there is none
	References int64  // reference count of that object
	Output     int    // n of Out[n]; 0 if it is none of these
	// Function, File and Line belong to the frame on the path, if the path has one. If Kind is a traceback or a thread,
	// Path begins with a local of that function.
	Function string
	File     string
	Line     int32 // 0 if not known
	// Probable: the path may be wrong. It leads through an object of unknown layout, and the word that was taken for
	// the reference may be another one.
	Probable bool
	Asked    Bytes // size that the tensor's storage requested; the allocator rounds up. 0 if not known
	// Running: the path begins in a frame of a thread that runs a cell. Only looks during the session set it: see
	// [Looked].
	Running bool
	// Garbage says how the garbage collector treats the block, if Kind is [HeldByCycle] or [HeldByNone]; "" if no
	// object that the collector knows has the block.
	Garbage Garbage
	// Cyclic: the object at the beginning of the path is in a reference cycle. Once its name is deleted, it waits for
	// the garbage collector.
	Cyclic bool
	// Class: the path begins at a class, or at a function that caches its results. These keep the block even if all
	// instances, or all results, are freed.
	Class bool
	// Lost is the cycle that the garbage collector cannot free, if Garbage is [GarbageLost]; else nil.
	Lost *Lost
}

// Lost is a cycle of objects that the garbage collector cannot free, because an object hides one of its references. All
// blocks that the cycle holds have the same Lost. The zero value says that nothing more is known. All texts are
// hostile.
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

// The cases. In the first four, every reference to the objects was found, and comes from one of these objects.
const (
	GarbageWaits  Garbage = "waits"  // the next collection of all objects frees it
	GarbageOff    Garbage = "off"    // the same, but the collector is switched off
	GarbageFrozen Garbage = "frozen" // the collector leaves it alone: gc.freeze()
	GarbageLost   Garbage = "lost"   // it is in a cycle that the collector does not see, or only such a cycle has it
	// In the last two, a reference was not found. It may come from an object of a type made in C; then the block is
	// garbage, too.
	GarbageYoung Garbage = "young" // the collector has not looked at all of these objects yet, or that is not known
	GarbageOld   Garbage = "old"   // they existed at the last collection of all objects
)

// Holders lists the holders of a process's live blocks at the end of the session. A long list comes as several Holders,
// one after another.
type Holders struct {
	Time     Nanoseconds // when the walk over the process's objects began
	Root     uint32
	PID      int32
	Complete bool  // false: a limit was hit, and [HeldByNone] and [HeldByCycle] mean only that no path was found
	Objects  int64 // number of objects that the walk looked into
	// Pool names the pool whose worker the process is, if the worker waits for the next task, such as
	// [PoolMultiprocessing]. Holders is then empty.
	Pool    string
	Holders []Holder
	Views   []View // memory that only views hold
}

func (*Holders) isEvent() {}
