package tracer

import (
	"time"

	"ipytracer/event"
	"ipytracer/tracer/host/footprint"
	"ipytracer/tracer/host/limit"
	"ipytracer/tracer/ledger"
)

// GPUs are the machine's, as far as they are known by now.
func (s *Session) GPUs() []event.GPU { return s.devices.named() }

// HeapCost is what each pair of malloc and free costs the targets, roughly, without lines; 0 with [Options.Heap] off.
// Until their allocators are known it is what glibc's would: three hits on instructions that are emulated.
func (s *Session) HeapCost() time.Duration {
	if s.options.Heap && s.budget.prices.heap == 0 {
		return 3 * (s.budget.prices.costs.Emulated + work[ledger.GroupHeap])
	}
	return s.budget.prices.heap
}

// Limited lists the roots that the session has limited.
func (s *Session) Limited() []Limited { return s.limits.chosen }

// LeftLimits are the processes that came with a limit that a tracer has left, or one that runs has set, and how much it
// allows.
func (s *Session) LeftLimits() (left []Limited) {
	for _, info := range s.starts {
		if info.LimitBy == event.LimitLeft {
			left = append(left, Limited{int(info.PID), limit.Choice{Bytes: int64(info.Limit)}})
		}
	}
	return left
}

// DearProbes are the probes at dearer places than there might be, of a session that runs, with what they cost so far;
// of none, and of one that is over, there are none. It is for the goroutine that calls [Session.Next].
func DearProbes(s *Session) (dear []event.ProbeUse) {
	if s == nil || s.ledger == nil || !s.certificate.isDear() {
		return nil
	}
	for _, p := range s.used(s.ledger.Hits(), s.budget.prices.of) {
		if p.Dear != "" {
			dear = append(dear, p)
		}
	}
	return dear
}

// LeftOut says that there were more kernels than the session traces; "" where there were not.
func LeftOut(s *Session) string { return s.certificate.leftOut }

// Footprint is what this program takes and may take, a second ago at most. It is for the goroutine that calls
// [Session.Next].
func Footprint(s *Session) footprint.Footprint {
	if s == nil || s.allowance.meter == nil {
		return footprint.Footprint{}
	}
	if time.Since(s.allowance.looked) > time.Second {
		s.allowance.look()
	}
	return s.allowance.last
}

// EndedEarly says why a session ended by itself, for want of memory; "" where it did not.
func EndedEarly(s *Session) string {
	if s == nil {
		return ""
	}
	return s.end.early
}
