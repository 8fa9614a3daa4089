package event

// LimitKind names the origin of a limit on a process's memory.
type LimitKind string

// The kinds of limit.
const (
	LimitMachine LimitKind = "machine" // all of the machine's memory
	// LimitCgroup is of a container, a service, a user's slice: cgroup v2's memory.max, v1's memory.limit_in_bytes.
	LimitCgroup LimitKind = "cgroup"
	LimitData   LimitKind = "RLIMIT_DATA" // mapped memory of the process, soft limit
	LimitSpace  LimitKind = "RLIMIT_AS"   // its address space, soft limit
)

// Limit is a limit of a process's memory, and the memory that counts against it.
type Limit struct {
	Kind  LimitKind
	Path  string // of the cgroup below the mount of its hierarchy
	Bytes Bytes
	Used  Bytes // at present, by everything under the limit
	// Highest is the peak of Used that the kernel has kept; 0 if it keeps none.
	Highest Bytes
}

// Limits lists the memory limits of an attached process, at the beginning of its session and at its end.
type Limits struct {
	Time   Nanoseconds
	Root   uint32
	PID    int32
	Limits []Limit // the tightest first, by the bytes left
}

// Ending says how a traced process has ended. It follows the boundary of its end.
type Ending struct {
	Time   Nanoseconds
	Root   uint32
	PID    int32
	Status int32 // as wait(2) returns it
	// OutOfMemory: the kernel's OOM killer chose the process.
	OutOfMemory bool
	// Limit is the limit that the process hit; its Kind is "" if that is not known.
	Limit Limit
	// Likely: no counter of the kernel names this limit, but it was used up.
	Likely bool
}

func (*Limits) isEvent() {}
func (*Ending) isEvent() {}
