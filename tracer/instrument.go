package tracer

import (
	"io"
	"iter"
	"sync"
	"time"

	"ipytracer/event"
	"ipytracer/tracer/ledger"
	"ipytracer/tracer/process"
)

// An instrument places the probes of one kind in one target, and serves them until the target is let go. A session goes through a target's mappings
// whenever that has loaded or unloaded something, and shows each to the target's instruments; what they cannot see they tell their [host], for the
// certificate.
type instrument interface {
	// meet looks at a mapping, which it may have met before.
	meet(m process.Mapping)
	// settle does what no mapping brings about. It is called again until it says that nothing is left to wait for.
	settle() (done bool)
	// stepDown takes the probes of a group out, stepUp puts them back; of a group that it does not serve it does nothing.
	stepDown(g ledger.Group)
	stepUp(g ledger.Group) error
	// close takes all probes out and closes what it has open, which may take a while.
	close()
}

// host is what an instrument has of its session.
type host interface {
	openMapping(pid int, m process.Mapping) (*process.MappedFile, error)
	mappings(pid int) iter.Seq2[process.Mapping, error]
	probeFile(t *target, file *process.MappedFile, placements []ledger.Placement) (io.Closer, error)
	hasEnded(t *target) bool
	// misses notes what is not seen of a process, and since when; noteUse where a group's probes are.
	misses(pid int, since event.Nanoseconds, meters []event.Meter, format string, args ...any)
	noteUse(g ledger.Group, where string)
	// hit is what a probe costs; limitHeap has malloc's blocks taken into the budget, and heapCosts says what a malloc and its free cost.
	hit(emulated bool) time.Duration
	limitHeap() error
	heapCosts(d time.Duration)
}

var _ host = (*Session)(nil)

func (s *Session) openMapping(pid int, m process.Mapping) (*process.MappedFile, error) {
	return s.fs.OpenMapping(pid, m)
}

func (s *Session) mappings(pid int) iter.Seq2[process.Mapping, error] { return s.fs.Mappings(pid) }

func (s *Session) hit(emulated bool) time.Duration {
	if emulated {
		return s.budget.costs.Emulated
	}
	return s.budget.costs.Stepped
}

func (s *Session) limitHeap() error { return s.budget.limitHeap() }

func (s *Session) heapCosts(d time.Duration) { s.heapCost = max(s.heapCost, d) }

// equip gives a target its instruments, which it has until it is let go.
func (s *Session) equip(t *target) {
	if t.instruments != nil {
		return
	}
	t.instruments = []instrument{}
	if !s.options.NoStacks {
		t.instruments = append(t.instruments, &mappedInstrument{host: s, target: t})
	}
	if s.options.Heap {
		t.instruments = append(t.instruments, &heapInstrument{host: s, target: t})
	}
}

// settleInstruments has a target's instruments do what they wait for.
func (s *Session) settleInstruments(t *target) {
	s.equip(t)
	t.settled = true
	for _, i := range t.instruments {
		t.settled = i.settle() && t.settled
	}
}

// closeInstruments takes what they have placed out, all at the same time.
func (t *target) closeInstruments(closing *sync.WaitGroup) {
	for _, i := range t.instruments {
		closing.Go(i.close)
	}
	t.instruments = []instrument{}
}
