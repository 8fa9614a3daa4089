package tracer

import (
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/limit"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/budget"
)

// GPUs lists the machine's GPUs that are known by now.
func (s *Session) GPUs() []event.GPU { return s.devices.Named() }

// HeapCost returns the rough cost to the targets of each pair of malloc and free, without lines; 0 with [Options.Heap]
// off. Until their allocators are known, it is the cost for glibc: three hits on instructions that are emulated.
func (s *Session) HeapCost() time.Duration {
	if s.options.Heap && s.budget.Prices.Heap == 0 {
		return 3 * (s.budget.Prices.Costs.Emulated + budget.Work[ledger.GroupHeap])
	}
	return s.budget.Prices.Heap
}

// Limited lists the roots that the session has limited.
func (s *Session) Limited() []Limited { return s.limits.chosen }

// LeftLimits lists the processes that came with a limit from another tracer, which has ended or still runs, and how
// much each limit allows.
func (s *Session) LeftLimits() (left []Limited) {
	for _, info := range s.starts {
		if info.LimitBy == event.LimitLeft {
			left = append(left, Limited{int(info.PID), limit.Choice{Bytes: int64(info.Limit)}})
		}
	}
	return left
}

// DearProbes lists the probes of a running session that are at dearer places than the best ones, with their cost so
// far. It returns none for nil and for a session that is over. Only the goroutine that calls [Session.Next] may call
// it.
func DearProbes(s *Session) (dear []event.ProbeUse) {
	if s == nil || !s.ledger.IsLoaded() || s.end.closed || !s.certificate.IsDear() {
		return nil
	}
	for _, p := range s.certificate.Used(s.ledger.Hits(), s.budget.Prices.Of) {
		if p.Dear != "" {
			dear = append(dear, p)
		}
	}
	return dear
}

// FreeOnGPUs returns the memory that is free on each GPU, in bytes by NVML's index, by NVML's last answer: of the last
// beginning or end of a cell that uses GPUs. GPUs that are divided (MIG) are left out, and all of them where NVML has
// not answered lately. Only the goroutine that calls [Session.Next] may call it.
func FreeOnGPUs(s *Session) map[int]int64 {
	if s == nil {
		return nil
	}
	return s.devices.Free()
}

// LeftOut says that there were more kernels than the session traces; it returns "" where there were not.
func LeftOut(s *Session) string { return s.certificate.LeftOut }

// Footprint returns how much memory this program takes and may take, a second ago at most. Only the goroutine that
// calls [Session.Next] may call it.
func Footprint(s *Session) limit.Footprint {
	if s == nil || s.allowance.meter == nil {
		return limit.Footprint{}
	}
	if time.Since(s.allowance.looked) > time.Second {
		s.allowance.look()
	}
	return s.allowance.last
}

// EndedEarly says why a session ended by itself, for want of memory; it returns "" where it did not.
func EndedEarly(s *Session) string {
	if s == nil {
		return ""
	}
	return s.end.early
}

// Losses returns what is missing so far: records that were lost, and probes that could not be placed.
func (s *Session) Losses() []event.Loss { return s.certificate.Lost(s.ledger.Losses()) }
