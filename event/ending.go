package event

// LimitKind names the origin of a limit on a process's memory.
type LimitKind string

// The kinds of limit.
const (
	LimitMachine LimitKind = "machine" // all of the machine's memory
	// LimitCgroup is the limit of a container, a service or a user's slice: memory.max of cgroup v2,
	// memory.limit_in_bytes of v1.
	LimitCgroup LimitKind = "cgroup"
	LimitData   LimitKind = "RLIMIT_DATA" // mapped memory of the process, soft limit
	LimitSpace  LimitKind = "RLIMIT_AS"   // its address space, soft limit
)

// Limit is a limit on a process's memory, with the memory that counts against it.
type Limit struct {
	Kind  LimitKind
	Path  string // of the cgroup below the mount of its hierarchy
	Bytes Bytes
	Used  Bytes // at present, by everything under the limit
	// Highest is the peak of Used since Linux began to count; 0 if Linux keeps none.
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
	// OutOfMemory: Linux's OOM killer chose the process.
	OutOfMemory bool
	// Limit is the limit that the process reached; its Kind is "" if that is not known.
	Limit Limit
	// Likely: Limit is a guess, because it was used up. No counter of Linux confirms it.
	Likely bool
}

func (*Limits) isEvent() {}
func (*Ending) isEvent() {}
