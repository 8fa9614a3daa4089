package event

// HolderKind says where the path to a block begins. An earlier kind wins where there is more than one path.
type HolderKind string

// The kinds, in their order.
const (
	HeldByVariable  HolderKind = "variable"  // a name of the user's in __main__
	HeldByOutput    HolderKind = "output"    // IPython's Out, or _, __, ___, _7
	HeldByTraceback HolderKind = "traceback" // the exception that was shown last
	HeldByThread    HolderKind = "thread"    // a frame that runs, or something else that a thread has
	HeldByModule    HolderKind = "module"    // an attribute of some other module
	HeldByCycle     HolderKind = "cycle"     // only objects that hold each other and wait for the garbage collector
	// HeldByNone: no path was found. In a complete walk: only code in C refers to the block.
	HeldByNone HolderKind = "none"
)

// The pools whose idle workers are known, as Pool of [Holders] has them.
const (
	PoolMultiprocessing = "multiprocessing.Pool"
	PoolExecutor        = "concurrent.futures.ProcessPoolExecutor"
	PoolLoky            = "joblib (loky)"
)

// Holder is who holds a block that was live when the session ended. All texts are hostile, as everything that came out of a
// target.
type Holder struct {
	Address    uint64 // of the block, as in [Change]
	Size       Bytes  // of a NumPy array's data that no change told of, as that array says; 0 of other blocks
	Kind       HolderKind
	Path       string // from the root to the object that has the block: cache['train'][3].weight, at most 512 bytes
	Root       string // the name at which the path begins, at most 128 bytes; "" if there is none
	Type       string // tp_name of that object, such as "numpy.ndarray", at most 128 bytes; "" if there is none
	References int64  // its reference count
	Output     int    // n of Out[n]; 0 if it is none of these
	// Function, File and Line are of the frame that the path goes through, if any. Of a traceback and a thread, Path
	// begins with a local of that function.
	Function string
	File     string
	Line     int32 // 0 if not known
	// Probable: on the way is a word of an object of a type whose layout is not known, and another may be the reference instead.
	Probable bool
	Asked    Bytes // what the tensor's storage asked for; the allocator rounds up. 0 if not known
	// Running: the path begins in a frame of a thread that runs a cell. It is told of looks while the session runs ([Looked]) only.
	Running bool
	// Garbage says, of [HeldByCycle] and [HeldByNone], what the garbage collector has to do with it; "" where it knows of no object that has the block.
	Garbage Garbage
	// Cyclic: what the path begins with is in a reference cycle. Without its name it waits for the garbage collector.
	Cyclic bool
}

// Garbage says what the garbage collector has to do with objects that nothing leads to.
type Garbage string

// The cases. In the first three every reference to the objects is known, and comes from among themselves.
const (
	GarbageWaits  Garbage = "waits"  // it goes with the next collection that looks at all objects
	GarbageOff    Garbage = "off"    // the same, but somebody has switched the collector off
	GarbageFrozen Garbage = "frozen" // the collector leaves it alone: gc.freeze()
	// There is a reference that was not found. It may be in an object of a type made in C, and then this is garbage all the same.
	GarbageYoung Garbage = "young" // the collector has not looked at all of these objects yet, or nobody knows
	GarbageOld   Garbage = "old"   // they were there when it last looked at all objects
)

// Holders says who holds the live blocks of a process, at the end of the session. Many are told in several of these, one
// behind the other.
type Holders struct {
	Time     Nanoseconds // when the walk over the process's objects began
	Root     uint32
	PID      int32
	Complete bool  // false: a limit was hit, and [HeldByNone] and [HeldByCycle] mean only that no path was found
	Objects  int64 // that were looked into
	// Pool is set for a process that is a worker of a pool and waits for the next task, such as [PoolMultiprocessing]; it has no
	// Holders then.
	Pool    string
	Holders []Holder
	Views   []View // memory that only views hold
}

func (*Holders) isEvent() {}
