package tracee

import (
	"io"

	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// OwnHeap is a target's own count of malloc's blocks: the target has loaded a library that counts them in a page, or
// will (package heapcounts). The target's word.
type OwnHeap struct {
	Page    HeapPage
	Library process.FileID
	// Leave tells the kernel half that the target does not count after all.
	Leave func() error
	// Probes are those in the library, which see large blocks. nil: none are in place.
	Probes io.Closer
}

// HeapPage is the page in which a target counts.
type HeapPage interface {
	State() ledger.HeapState
	Close() error
}

// Counts reports whether the target counts malloc's blocks itself. A nil OwnHeap does not.
func (h *OwnHeap) Counts() bool { return h != nil && h.Page.State() == ledger.HeapCounted }

// Refuses reports whether the target has found that it cannot count.
func (h *OwnHeap) Refuses() bool { return h.Page.State() == ledger.HeapRefused }

// End ends the target's count, where the target executes another program.
func (h *OwnHeap) End() {
	if h != nil {
		_ = h.Leave() // an error means that it has ended
		_ = h.Close()
	}
}

// Close takes the probes out, and closes the tracer's descriptor of the page.
func (h *OwnHeap) Close() error {
	if h == nil {
		return nil
	}
	if h.Probes != nil {
		_ = h.Probes.Close()
	}
	return h.Page.Close()
}
