package event

// UsualPage is the size of a page of memory on a machine that does not state it.
const UsualPage Bytes = 4096

// largestPage is the largest accepted size of a page. Linux has pages of up to 256 KiB, apart from huge pages.
const largestPage Bytes = 1 << 20

// Host describes the machine.
type Host struct {
	Name     string
	Kernel   string
	CPUs     int
	Memory   Bytes
	Tracer   string // version of the tracer that recorded
	BootID   string
	WallNow  Nanoseconds // CLOCK_REALTIME at the instant MonoNow
	MonoNow  Nanoseconds
	PageSize Bytes // of a page of memory; 0: [UsualPage]
}

// Page returns the size of a page of memory. It is a power of two, whatever a recording says.
func (h *Host) Page() Bytes {
	if p := h.PageSize; p >= UsualPage && p <= largestPage && p&(p-1) == 0 {
		return p
	}
	return UsualPage
}

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
