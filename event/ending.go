package event

// LimitKind says what limits a process's memory.
type LimitKind string

// The kinds of limit.
const (
	LimitMachine LimitKind = "machine"     // all of the machine's memory
	LimitCgroup  LimitKind = "cgroup"      // a container, a service, a user's slice: cgroup v2's memory.max, v1's memory.limit_in_bytes
	LimitData    LimitKind = "RLIMIT_DATA" // mapped memory of the process, soft limit
	LimitSpace   LimitKind = "RLIMIT_AS"   // its address space, soft limit
)

// Limit is a limit of a process's memory and what counts against it.
type Limit struct {
	Kind  LimitKind
	Path  string // of the cgroup below the mount of its hierarchy
	Bytes Bytes
	Used  Bytes // now, by all that the limit is for
	// Highest is the most that was ever used, as the kernel has kept it; 0 if it does not say.
	Highest Bytes
}

// Limits is what limits the memory of an attached process, at the beginning of its session and at its end.
type Limits struct {
	Time   Nanoseconds
	Root   uint32
	PID    int32
	Limits []Limit // the tightest first, by what is left
}

// Ending says how a traced process has ended. It follows the boundary of its end.
type Ending struct {
	Time   Nanoseconds
	Root   uint32
	PID    int32
	Status int32 // what wait(2) says of it
	// OutOfMemory: the kernel's OOM killer had chosen it.
	OutOfMemory bool
	// Limit is what was hit then; its Kind is "" where that is not known.
	Limit Limit
	// Likely: no counter of the kernel's said that this limit was hit; it was the one that was used up.
	Likely bool
}

func (*Limits) isEvent() {}
func (*Ending) isEvent() {}
