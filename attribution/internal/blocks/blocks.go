// Package blocks keeps the live blocks of a session, and the stacks that allocated in each window. It lists both for a
// report.
package blocks

import (
	"ipytracer/attribution/internal/activity"
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// Blocks records, from the change stream, the blocks that each traced process holds, and the code that allocated them.
// If the stream lost changes, the blocks known at a window's peak do not add up to the peak of the kernel's ledger.
type Blocks struct {
	*windows.State
	activity.Unfollowed
	*stacks.Holdings
	Merger *stacks.Merger
	finds  *windows.FoundNames

	Live    map[stacks.BlockKey]stacks.Block
	Ranges  map[int32]*stacks.Ranges[uint64] // of cpu.mapped, by process
	Pieces  int                              // number of pieces of all Ranges
	touched touches                          // samples of resident memory
	copies  copies                           // samples of memory that was copied after a fork
	asked   map[stacks.AskedKey]event.Bytes  // the bytes that tensors requested of PyTorch's blocks, at the end
	// lost has, by the blocks that they hold, the cycles that the garbage collector does not see
	lost map[stacks.AskedKey]*event.Lost
	// Unstreamed: some blocks that moved a meter were not streamed. Of small blocks, only samples were.
	Unstreamed bool
	Searched   int               // number of blocks that were searched for dividers
	closed     []*windows.Window // reused by unsettled
	in         []*windows.Window // reused by windowsOf
	Flow       *Flow             // nil: windows have tallies instead
	GivenUp    string            // why these records are no longer kept, see [GiveUp]; "": they are kept
}

// HeldBy records the bytes that tensors requested, and the cycles that the collector does not see, by block.
func (a *Blocks) HeldBy(e *event.Holders) {
	for _, h := range e.Holders {
		if h.Kind == event.HeldByCycle && h.Garbage == event.GarbageLost && a.GivenUp == "" &&
			len(a.lost) < stacks.MaxBlocks {
			if a.lost == nil {
				a.lost = map[stacks.AskedKey]*event.Lost{}
			}
			a.lost[stacks.AskedKey{PID: e.PID, Address: h.Address}] = h.Lost
		}
		if h.Asked > 0 && a.GivenUp == "" && len(a.asked) < stacks.MaxBlocks {
			if a.asked == nil {
				a.asked = map[stacks.AskedKey]event.Bytes{}
			}
			a.asked[stacks.AskedKey{PID: e.PID, Address: h.Address}] = h.Asked
		}
	}
}

// New returns blocks with tallies of windows.
func New(s *windows.State) *Blocks {
	return &Blocks{
		State: s, Merger: &stacks.Merger{Stacks: s.Stacks}, finds: &windows.FoundNames{State: s},
		Live: map[stacks.BlockKey]stacks.Block{}, Ranges: map[int32]*stacks.Ranges[uint64]{},
		Holdings: stacks.NewHoldings(s.Stacks),
	}
}

// NewFlowing returns blocks with a flow in the place of windows' tallies.
func NewFlowing(s *windows.State) *Blocks {
	a := New(s)
	a.Flow = &Flow{}
	a.Flow.Clear()
	return a
}

// BlockAt returns the stack of a live block.
func (a *Blocks) BlockAt(pid int32, m event.Meter, address uint64) (stack uint64, ok bool) {
	b, ok := a.Live[stacks.BlockKey{Key: course.Key{PID: pid, Meter: m}, Address: address}]
	return b.Stack, ok
}

// RangeAt returns the stack that mapped an address.
func (a *Blocks) RangeAt(pid int32, address uint64) (stack uint64, ok bool) {
	return a.Ranges[pid].At(address)
}

// IsWhole reports whether everything that arrived has found room.
func (a *Blocks) IsWhole() bool { return a.Missing() == 0 && a.GivenUp == "" }

// Missing returns the number of blocks, tallies and stacks that found no room.
func (a *Blocks) Missing() int { return a.Holdings.Dropped + a.Stacks.Dropped }

// GiveUp drops the records of blocks and stacks.
func (a *Blocks) GiveUp(why string) {
	*a.Merger = stacks.Merger{Stacks: a.Stacks}
	*a.finds = windows.FoundNames{State: a.State}
	*a = Blocks{
		State: a.State, Merger: a.Merger, finds: a.finds,
		Live: map[stacks.BlockKey]stacks.Block{}, Ranges: map[int32]*stacks.Ranges[uint64]{},
		Holdings: stacks.NewHoldings(a.Stacks), GivenUp: why,
	}
}

// Baseline is the bytes that processes held of each stack at some time.
type Baseline struct {
	Held map[course.Key]map[uint64]event.Bytes
}

// maxMarked bounds the stacks of a baseline. With more stacks there is no baseline, so no growth is reported.
const maxMarked = 1 << 18

// Baseline returns the current holdings; nil if there are too many to remember.
func (a *Blocks) Baseline() *Baseline {
	m := &Baseline{Held: map[course.Key]map[uint64]event.Bytes{}}
	room := maxMarked
	for key, h := range a.Holdings.Held {
		if room -= len(h.ByStack); room < 0 {
			a.Holdings.Dropped++
			return nil
		}
		bytes := make(map[uint64]event.Bytes, len(h.ByStack))
		for stack, size := range h.ByStack {
			bytes[stack] = size
		}
		m.Held[key] = bytes
	}
	return m
}
