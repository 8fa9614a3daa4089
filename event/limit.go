package event

// LimitBy says who has set the soft limit on what a process may map.
type LimitBy string

// Who it can be.
const (
	LimitNone    LimitBy = ""        // there is none
	LimitSession LimitBy = "session" // this session, which takes it away in the end
	LimitCommand LimitBy = "command" // `tracer limit`
	LimitLeft    LimitBy = "left"    // a tracer that was killed, or another that runs
	LimitOther   LimitBy = "other"   // somebody else: ulimit, systemd, the process itself
)
