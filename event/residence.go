package event

// ResidencePart is resident memory of one kind. Package resident has the kinds.
type ResidencePart struct {
	Kind  string
	Bytes Bytes
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
}

func (*Residence) isEvent() {}
