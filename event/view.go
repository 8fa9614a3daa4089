package event

// View is memory that only views hold. With base[:10], for example, all of base stays when the name base is deleted.
// All texts are hostile.
type View struct {
	Address uint64 // of the memory, as in [Change]
	Size    Bytes  // of the memory
	Used    Bytes  // of that, the elements of the views, counted once for each view
	Copies  Bytes  // size of copies of all the views; it exceeds Used where a stride is 0
	Small   Bytes  // of Copies, those of less than 1 KiB each
	Type    string // tp_name of the object that the memory belongs to, such as "numpy.ndarray" or "bytearray"
	// Collect: a view that waits for the garbage collector also holds the memory.
	Collect bool
	Viewers []Viewer // every viewer that must be replaced for the memory to go
}

// Viewer is an object that is a view or contains views, with all places that refer to it.
type Viewer struct {
	Paths   []string // small, rows[0]; names first
	Type    string   // tp_name
	How     []ViewCopy
	Used    Bytes // of [View.Used]
	Outputs []int // n of each Out[n] that has it, too; -1: a name from IPython without a number has it
	// Fixed: one of Paths leads through a tuple or a set, whose elements cannot be replaced.
	Fixed bool
}

// ViewCopy names a way to copy a view, so that the copy has its own memory.
type ViewCopy string

// The ways.
const (
	CopyObject  ViewCopy = "copy"    // x = x.copy()
	CopyIndex   ViewCopy = "index"   // x.index = x.index.copy(deep=True)
	CopyColumns ViewCopy = "columns" // x.columns = x.columns.copy(deep=True)
	CopyTensor  ViewCopy = "clone"   // x = x.clone()
	CopyLoose   ViewCopy = "detach"  // x = x.detach().clone(): its graph refers to the memory
	CopyBytes   ViewCopy = "bytes"   // x = bytes(x)

	// The following are for objects of pyarrow, and of pandas that hold pyarrow objects: their copy() shares the
	// memory.

	CopyTable ViewCopy = "table" // x = x.from_arrays([c.combine_chunks() for c in x.columns], schema=x.schema)
	// import pyarrow; x = x.from_arrays([pyarrow.concat_arrays([c]) for c in x.columns], schema=x.schema)
	CopyBatch    ViewCopy = "batch"
	CopyChunked  ViewCopy = "chunked" // import pyarrow; x = pyarrow.chunked_array([x.combine_chunks()])
	CopyArrow    ViewCopy = "concat"  // import pyarrow; x = pyarrow.concat_arrays([x])
	CopyRepeated ViewCopy = "repeat"  // x = x.repeat(1)
	CopyAnew     ViewCopy = "apply"   // x = x.apply(lambda c: c.repeat(1))
)
