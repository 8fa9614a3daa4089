package attribution

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/report"
	"ipytracer/report/text"
)

// TestWildEvents: a recording may say anything, in any order. A report and an audit of it come to an end, in every form.
func TestWildEvents(t *testing.T) {
	meters := []event.Meter{event.Mapped, event.NumPy, event.Heap, event.Torch, event.Pinned, event.OfDevice(0, event.Driver), event.OfDevice(0, event.Active), event.OfDevice(0, event.Reserved)}
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 3))
		size := func() event.Bytes {
			return []event.Bytes{1, -1, 4096, -4096, 64 << 20, -64 << 20, math.MaxInt64, math.MinInt64, 0}[r.IntN(9)]
		}
		pid := func() int32 { return []int32{main, 1, 2}[r.IntN(3)] }
		auditor, tracker := NewAuditor(), New()
		add := func(e event.Event) { auditor.Add(e); tracker.Add(e) }
		add(newScript().events[0])
		for range 300 {
			switch r.IntN(11) {
			case 10:
				add(&event.Residence{PID: pid(), Total: max(size(), 0), Trim: max(size(), 0), Parts: []event.ResidencePart{{Kind: "other", Bytes: max(size(), 0)}}})
				add(&event.Variables{PID: pid(), Complete: r.IntN(2) == 0, Rest: size(), Unlisted: int64(size()), Variables: []event.Variable{
					{Name: "[[[", Kind: event.HeldByVariable, Bytes: max(size(), 0), Device: max(size(), 0), Shape: []int64{1, 2}, Length: -1, Block: r.Uint64N(6)*4096 + 16, Size: size(), Array: r.IntN(2) == 0},
				}})
			case 0:
				add(&event.Stack{Number: r.Uint64N(4), PID: pid(), Frames: []event.Frame{{Function: "f", File: "c.py", Line: int32(r.IntN(3))}, {Native: true}}[:r.IntN(3)]})
			case 1:
				add(&event.CellSource{Cell: r.Uint64N(4), PID: pid(), Text: []string{"", "x"}[r.IntN(2)]})
			case 2:
				add(&event.Holders{PID: pid(), Complete: r.IntN(2) == 0, Holders: []event.Holder{
					{Address: r.Uint64N(6) * 4096, Kind: []event.HolderKind{"", "absurd", event.HeldByCycle, event.HeldByNone, event.HeldByModule, event.HeldByOutput}[r.IntN(6)], Path: "[[["},
				}})
			case 3, 4, 5:
				b := &event.Boundary{
					Number: r.Uint64N(50), Time: event.Nanoseconds(r.Int64N(1e12)), Kind: event.BoundaryKind(r.IntN(int(event.MeterSettled) + 1)), Root: uint32(r.IntN(2)),
					PID: pid(), Parent: []int32{0, main, 1}[r.IntN(3)], Cell: r.Uint64N(4), Outer: r.Uint64N(4), Segment: r.Uint64N(50), Stream: r.Uint64N(500),
					Inputs: int64(r.IntN(5)) - 1, Line: int32(r.IntN(4)), Outcome: event.Outcome(r.IntN(5)),
					Text: []string{"", "c.py", event.Stacks, event.TensorStacks, event.HeapStacks, event.MappedStacks, event.TorchTotals, event.TorchCPU}[r.IntN(8)],
				}
				b.Value[meters[r.IntN(len(meters))]] = size()
				add(b)
			default:
				add(&event.Change{
					Stream: r.Uint64N(500), Segment: r.Uint64N(60), Time: event.Nanoseconds(r.Int64N(1e12)), Root: uint32(r.IntN(2)), PID: pid(), TID: pid(),
					Meter: meters[r.IntN(len(meters))], Value: size(), Size: size(), Address: r.Uint64N(6) * 4096, Stack: r.Uint64N(5),
					Block: r.IntN(2) == 0, Passed: uint8(max(0, r.IntN(16)-13)), Learned: r.IntN(16) == 0,
				})
			}
		}
		add(&event.Finish{Reason: "wild"})
		whole, leaks := tracker.Report(), auditor.Audit(0)
		var texts strings.Builder
		for _, err := range []error{
			report.JSON(&texts, whole), report.CSV(&texts, whole), text.Report(&texts, whole, text.Options{}),
			report.AuditJSON(&texts, leaks), text.Audit(&texts, leaks, text.Options{}),
		} {
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
}
