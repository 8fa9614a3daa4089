package tracer

import (
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/limit"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/budget"
	"ipytracer/tracer/internal/tracee"
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

// HeapCounted reports whether the command has what it needs to count malloc's blocks itself.
func HeapCounted(s *Session) bool {
	return slices.ContainsFunc(s.targets.All, func(t *tracee.Target) bool { return t.OwnHeap != nil })
}

// Limited lists the roots that the session has limited.
func (s *Session) Limited() []Limited { return s.limits.chosen }

// LeftLimits lists the processes that had a limit from another tracer when they were attached, with the limit.
func (s *Session) LeftLimits() (left []Limited) {
	for _, info := range s.starts {
		if info.LimitBy == event.LimitLeft {
			left = append(left, Limited{int(info.PID), limit.Choice{Bytes: int64(info.Limit)}})
		}
	}
	return left
}

// DearProbes lists the probes of a running session whose places cost more than the best ones, with their cost so far. A
// nil session, and a session that is over, have none. Only the goroutine that calls [Session.Next] may call DearProbes.
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

// FreeOnGPUs returns the free memory of each GPU, in bytes by NVML's index, as of the last begin or end of a cell that
// uses GPUs. It leaves out divided GPUs (MIG), and returns nil if NVML did not answer then. Only the goroutine that
// calls [Session.Next] may call it.
func FreeOnGPUs(s *Session) map[int]int64 {
	if s == nil {
		return nil
	}
	return s.devices.Free()
}

// LeftOut returns a sentence on the kernels that the session does not trace because there were too many, "" for none.
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

// EndedEarly returns why a session ended by itself for lack of memory, "" if it did not.
func EndedEarly(s *Session) string {
	if s == nil {
		return ""
	}
	return s.end.early
}

// Losses returns what is missing so far: records that were lost, and probes that could not be placed.
func (s *Session) Losses() []event.Loss { return s.certificate.Lost(s.ledger.Losses()) }

// CountsPage has a process count its small NumPy arrays itself, by its memory handler at an address, and returns the
// descriptor of the page in which it does (bpf/counts.h). live is the size of those that it has now, in bytes. All
// other arrays of the process must be counted by probes in NumPy, else it fails with [ledger.ErrNoPage]. The figures
// are the process's word from then on, bounded by what Linux counts. Only the goroutine that calls [Session.Next] may
// call CountsPage. The caller closes fd.
func (s *Session) CountsPage(pid int, handler, live uint64) (fd int, err error) {
	t := s.targets.Find(pid)
	if s.end.closed || t == nil || t.NumPy == nil {
		return -1, ledger.ErrNoPage
	}
	blocks := ledger.Counted{Handler: handler, Live: live}
	return t.NumPy.Share(func() (int, error) { return s.ledger.GivePage(pid, blocks) })
}

// TensorsPage is [Session.CountsPage] for PyTorch's small tensors on the CPU. PyTorch's library must have its probes.
func TensorsPage(s *Session, pid int) (fd int, err error) {
	t := s.targets.Find(pid)
	if s.end.closed || t == nil || t.Tensors == nil {
		return -1, ledger.ErrNoPage
	}
	return t.Tensors.Share(func() (int, error) { return s.ledger.GivePage(pid, ledger.Counted{Tensors: true}) })
}
