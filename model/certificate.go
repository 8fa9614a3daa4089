package model

// Certificate is the evidence behind the figures.
type Certificate struct {
	// Complete says that figures and windows are complete: every change in the kernel half reached the tracer, every
	// window exists and has its end, and nothing behind a figure was lost, refused or guessed. Otherwise Incomplete has
	// the reasons in words.
	Complete   bool     `json:"complete"`
	Incomplete []string `json:"incomplete,omitempty"`
	// Attribution says whether the stacks of allocations are complete.
	Attribution Attribution `json:"attribution"`
	Finished    string      `json:"finished"` // why the session ended
	Made        uint64      `json:"made"`
	Delivered   uint64      `json:"delivered"`
	Lost        []Loss      `json:"lost"`
	// BoundariesLost counts missing boundaries of windows. Any number but 0 is a defect of the tracer.
	BoundariesLost uint64 `json:"boundaries_lost"`
	UnknownFrees   uint64 `json:"unknown_frees"`
	// UnknownDeviceFrees counts frees of device or page-locked memory that was allocated before the attach.
	UnknownDeviceFrees uint64 `json:"unknown_device_frees"`
	// UnknownHeapFrees counts frees of malloc's blocks that were allocated before the attach.
	UnknownHeapFrees uint64 `json:"unknown_heap_frees,omitempty"`
	// UnknownTorchFrees counts frees of tensors on the CPU that were allocated before the attach.
	UnknownTorchFrees uint64 `json:"unknown_torch_frees,omitempty"`
	// UnknownArrowFrees counts frees of blocks of Arrow's pools that were allocated before the attach.
	UnknownArrowFrees uint64   `json:"unknown_arrow_frees,omitempty"`
	LateLibraries     []string `json:"late_libraries"`
	Probes            []Probe  `json:"probes"`
	Meters            []Proof  `json:"meters"`
	Problems          []string `json:"problems"`
}

// Attribution says how completely stacks are known: lines, functions, names, texts. No figure and no window depends on
// it.
type Attribution struct {
	Complete   bool     `json:"complete"` // no stack, function, name or text is missing
	Incomplete []string `json:"incomplete,omitempty"`
}

// Unknown returns the counts of frees of memory that was allocated before the attach, in the order of
// event.UnknownKind.
func (c *Certificate) Unknown() []*uint64 {
	return []*uint64{
		&c.UnknownFrees, &c.UnknownTorchFrees, &c.UnknownHeapFrees, &c.UnknownDeviceFrees, &c.UnknownArrowFrees,
	}
}

// Loss counts records that did not arrive.
type Loss struct {
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

// Probe is one probe and its number of hits.
type Probe struct {
	Name string `json:"name"`
	Site string `json:"site"`
	Hits uint64 `json:"hits"`
	// CostNS is the approximate CPU time of the hits, in nanoseconds: Hits times the cost of one hit on the machine,
	// without walks of stacks; 0 if it is not known.
	CostNS int64 `json:"cost_ns,omitempty"`
	// Dear says why hits cost more than usual: because the probe is at a more expensive place, or, with DearMachine,
	// what a hit costs on the machine. Otherwise it is empty.
	Dear        string `json:"dear,omitempty"`
	DearMachine bool   `json:"dear_machine,omitempty"`
}

// Proof compares, for one meter, the kernel's peaks with the peaks recomputed from the event stream.
type Proof struct {
	ID string `json:"id"`
	// Compared is the number of windows with a complete stream. Agreed is the number of these whose peaks agree to the
	// byte.
	Compared int `json:"compared"`
	Agreed   int `json:"agreed"`
	// Skipped is the number of windows with an incomplete stream: nothing could be compared.
	Skipped int `json:"skipped"`
	// Difference is the largest difference between a kernel's peak and the recomputed peak, in bytes.
	Difference int64 `json:"difference"`
	// Paused: the probe was paused at least once to keep the overhead budget.
	Paused bool `json:"shed"`
}
