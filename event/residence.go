package event

// ResidencePart is resident memory of one kind, see package resident for the kinds.
type ResidencePart struct {
	Kind  string
	Bytes Bytes
}

// Residence says where the resident memory of a process is at the end of the session. The parts add up to Total.
type Residence struct {
	Time     Nanoseconds
	Root     uint32
	PID      int32
	Total    Bytes // as /proc/PID/smaps has it
	Trim     Bytes // what malloc_trim(0) would give back
	Complete bool  // false: a limit was hit, and what was not looked at is in the part "other"
	Parts    []ResidencePart
}

func (*Residence) isEvent() {}
