package attribution

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/report/text"
	"ipytracer/report"
)

// TestWildEvents checks that a report and an audit end, in every form, for a recording with any events in any order.
func TestWildEvents(t *testing.T) {
	t.Parallel()
	for seed := range attributiontest.Seeds(400) {
		r := rand.New(rand.NewPCG(seed, 3))
		auditor, tracker := NewAuditor(), New()
		add := func(e event.Event) { auditor.Add(e); tracker.Add(e) }
		add(newScript().events[0])
		wild := wild{r, add}
		for range 300 {
			wild.event()
		}
		add(&event.Finish{Reason: "wild"})
		whole, leaks := tracker.Report(), auditor.Audit(0)
		var texts strings.Builder
		for _, err := range []error{
			report.JSON(&texts, whole), report.CSV(&texts, whole), text.Report(&texts, whole, text.Options{}),
			report.AuditJSON(&texts, leaks), sheet.Audit(leaks, sheet.Options{}).Text(&texts, doc.Size{Width: 120}),
		} {
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
}

var wildMeters = []event.Meter{event.Mapped, event.NumPy, event.Heap, event.Torch, event.Pinned,
	event.OfDevice(0, event.Driver), event.OfDevice(0, event.Active), event.OfDevice(0, event.Reserved)}

// wild adds events of any kind.
type wild struct {
	*rand.Rand
	add func(event.Event)
}

func (w wild) size() event.Bytes {
	return []event.Bytes{1, -1, 4096, -4096, 64 << 20, -64 << 20, math.MaxInt64, math.MinInt64, 0}[w.IntN(9)]
}

func (w wild) pid() int32 { return []int32{main, 1, 2}[w.IntN(3)] }

func (w wild) event() {
	switch w.IntN(11) {
	case 10:
		w.add(&event.Residence{PID: w.pid(), Total: max(w.size(), 0), Trim: max(w.size(), 0),
			Parts: []event.ResidencePart{{Kind: "other", Bytes: max(w.size(), 0)}}})
		w.add(&event.Variables{PID: w.pid(), Complete: w.IntN(2) == 0, Rest: w.size(), Unlisted: int64(w.size()),
			Variables: []event.Variable{
				{Name: "[[[", Kind: event.HeldByVariable, Bytes: max(w.size(), 0), Device: max(w.size(), 0),
					Shape: []int64{1, 2}, Length: -1, Block: w.Uint64N(6)*4096 + 16, Size: w.size(),
					Array: w.IntN(2) == 0},
			}})
	case 0:
		w.add(&event.Stack{Number: w.Uint64N(4), PID: w.pid(),
			Frames: []event.Frame{{Function: "f", File: "c.py", Line: int32(w.IntN(3))},
				{Native: true}}[:w.IntN(3)]})
	case 1:
		w.add(&event.CellSource{Cell: w.Uint64N(4), PID: w.pid(), Text: []string{"", "x"}[w.IntN(2)]})
	case 2:
		w.add(&event.Holders{PID: w.pid(), Complete: w.IntN(2) == 0, Holders: []event.Holder{
			{Address: w.Uint64N(6) * 4096,
				Kind: []event.HolderKind{"", "absurd", event.HeldByCycle, event.HeldByNone, event.HeldByModule,
					event.HeldByOutput}[w.IntN(6)], Path: "[[["},
		}})
	case 3, 4, 5:
		b := &event.Boundary{
			Number: w.Uint64N(50), Time: event.Nanoseconds(w.Int64N(1e12)),
			Kind: event.BoundaryKind(w.IntN(int(event.MeterSettled) + 1)), Root: uint32(w.IntN(2)),
			PID: w.pid(), Parent: []int32{0, main, 1}[w.IntN(3)], Cell: w.Uint64N(4), Outer: w.Uint64N(4),
			Segment: w.Uint64N(50), Stream: w.Uint64N(500),
			Inputs: int64(w.IntN(5)) - 1, Line: int32(w.IntN(4)), Outcome: event.Outcome(w.IntN(5)),
		}
		i := w.IntN(8)
		b.Group = []event.Group{event.ArrayProbes, event.OtherProbes, event.Stacks, event.TensorStacks,
			event.HeapStacks, event.MappedStacks, event.TorchTotals, event.TorchCPU}[i]
		if i > 0 {
			b.Probes = "c.py"
			if text := b.Text(); text != nil {
				*text = "c.py"
			}
		}
		b.Value[wildMeters[w.IntN(len(wildMeters))]] = w.size()
		w.add(b)
	default:
		w.add(&event.Change{
			Stream: w.Uint64N(500), Segment: w.Uint64N(60), Time: event.Nanoseconds(w.Int64N(1e12)),
			Root: uint32(w.IntN(2)), PID: w.pid(), TID: w.pid(),
			Meter: wildMeters[w.IntN(len(wildMeters))], Value: w.size(), Size: w.size(), Address: w.Uint64N(6) * 4096,
			Stack: w.Uint64N(5),
			Block: w.IntN(2) == 0, Passed: uint8(max(0, w.IntN(16)-13)), Learned: w.IntN(16) == 0,
		})
	}
}
