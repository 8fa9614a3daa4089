package event

// Block is a piece of memory of a process: its address, as in [Change], and its size.
type Block struct {
	Address uint64
	Size    Bytes
}

// Looked is the result of a look into one process while the session runs. It goes to the caller that asked for it: it
// is no event of the target, and recordings do not contain it.
type Looked struct {
	PID       int32
	Took      Nanoseconds
	Cost      Nanoseconds // processor time of the look
	Variables *Variables  // names and their memory; nil if not requested, or not found out
	// Holders has the holders of blocks, and the children that are idle workers; none if not requested, or not found
	// out.
	Holders []*Holders
	Why     string // why a part of the look failed, in a sentence; else ""
	Still   []bool // for each requested object: whether it still exists
}

func (*Looked) isEvent() {}

// Settled says that every figure of the session is final. A look at the objects of the processes follows, and then the
// session's [Finish]: it has the same figures, and the results of the look.
type Settled struct {
	Finish  Finish
	Holders bool // the look finds the holder of each block, and not only the memory of each name
}

func (*Settled) isEvent() {}

// ResidencePart is resident memory of one kind. Package resident has the kinds.
type ResidencePart struct {
	Kind  string
	Bytes Bytes
	// Returns is the part that an allocator other than glibc's would give back. File is its library, or the file of a
	// part of shared memory and of mapped files. It is hostile text.
	Returns Bytes
	File    string
}

// Residence divides the resident memory of a process at the end of the session. The parts add up to Total.
type Residence struct {
	Time     Nanoseconds
	Root     uint32
	PID      int32
	Total    Bytes // as /proc/PID/smaps has it
	Trim     Bytes // memory that malloc_trim(0) would give back
	Complete bool  // false: a limit was hit, and memory that was not looked at is in the part "other"
	Parts    []ResidencePart
	// Swapped is memory in swap, and Huge is in huge pages of hugetlbfs. Total has neither.
	Swapped, Huge Bytes
}

func (*Residence) isEvent() {}
