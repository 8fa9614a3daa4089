package event

// LimitBy names the origin of the soft limit on the memory that a process may map.
type LimitBy string

// The origins.
const (
	LimitNone    LimitBy = ""        // there is no limit
	LimitSession LimitBy = "session" // this session, which removes it at its end
	LimitCommand LimitBy = "command" // `tracer limit`
	LimitLeft    LimitBy = "left"    // a tracer that was killed, or another one that is running
	LimitOther   LimitBy = "other"   // anything else: ulimit, systemd, the process itself
)
