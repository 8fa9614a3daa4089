package tracer

import (
	"fmt"
	"maps"
	"slices"

	"ipytracer/event"
	"ipytracer/tracer/gpu"
)

// gpuUsers are the processes that have the CUDA driver mapped.
type gpuUsers struct {
	alive map[int32]*gpuUser
	// ended are the environments of those that have ended and had memory counted by CUDA's numbers, with the pid of
	// one.
	ended map[gpu.Environment]int32
	// doubts are what is to be said of their numbers if NVML never answers.
	doubts []string
}

type gpuUser struct {
	unnamed *gpu.Environment // its CUDA devices have CUDA's numbers: NVML had not answered yet
	counted bool             // it has had memory of a GPU
	stale   bool             // the certificate says that NVML does not answer for it
}

// maxEnded is how many environments are remembered. Children have their parent's, as a rule.
const maxEnded = 100

// add takes a process in.
func (all *gpuUsers) add(pid int32) *gpuUser {
	if all.alive == nil {
		all.alive = map[int32]*gpuUser{}
	}
	if all.alive[pid] == nil {
		all.alive[pid] = &gpuUser{}
	}
	return all.alive[pid]
}

// note takes in what a boundary says of its process, and reports whether that has, or had, memory of a GPU.
func (all *gpuUsers) note(b *event.Boundary) (counted bool) {
	for n := range event.MaxDevices {
		m := event.OfDevice(n, event.Driver)
		counted = counted || max(b.Value[m], b.High[m]) > 0
	}
	if u := all.alive[b.PID]; u != nil {
		u.counted = u.counted || counted
	}
	return counted
}

// forget drops a process that has ended. If its memory was counted by CUDA's numbers these must be NVML's all the same,
// or the record has both.
func (all *gpuUsers) forget(pid int32) {
	if u := all.alive[pid]; u != nil && u.unnamed != nil && u.counted && len(all.ended) < maxEnded {
		if all.ended == nil {
			all.ended = map[gpu.Environment]int32{}
		}
		all.ended[*u.unnamed] = pid
	}
	delete(all.alive, pid)
}

// markStale notes, once for each process, that what NVML said last stands for what it does not say.
func (all *gpuUsers) markStale(report *certificate, since event.Nanoseconds, err error) {
	for _, pid := range slices.Sorted(maps.Keys(all.alive)) {
		if u := all.alive[pid]; !u.stale {
			u.stale = true
			report.misses(int(pid), since, metersOfNVML, "pid %d: gpu.N.unattributed is what it was before: %s", pid,
				clean(err.Error()))
		}
	}
}

// doubt keeps what is to be said, if that is anything.
func (all *gpuUsers) doubt(text string) {
	if text != "" && len(all.doubts) < maxEnded {
		all.doubts = append(all.doubts, text)
	}
}

// sayDoubts says what was kept.
func (all *gpuUsers) sayDoubts(report *certificate) {
	for _, text := range all.doubts {
		report.problem("%s", text)
	}
	all.doubts = nil
}

// compare compares the numbers that CUDA has for the GPUs of processes with those of NVML, which answers for the first
// time. It fails if they may differ, else it takes in which MIG devices they use.
func (all *gpuUsers) compare(devices []gpu.Device, used *shares) error {
	if len(all.ended) >= maxEnded {
		return fmt.Errorf("NVML answered after %d processes with different environments had used GPUs and ended",
			maxEnded)
	}
	for environment, pid := range all.ended {
		if err := compare(devices, pid, environment, used); err != nil {
			return err
		}
	}
	all.ended = nil
	for _, pid := range slices.Sorted(maps.Keys(all.alive)) {
		u := all.alive[pid]
		if u.unnamed == nil {
			continue
		}
		if err := compare(devices, pid, *u.unnamed, used); err != nil {
			return err
		}
		u.unnamed = nil
	}
	all.doubts = nil
	return nil
}

func compare(devices []gpu.Device, pid int32, environment gpu.Environment, used *shares) error {
	found := gpu.MapOrdinals(devices, environment)
	if found.Doubt != "" {
		return fmt.Errorf("NVML answered after pid %d had loaded the CUDA driver, and it is not certain that GPUs "+
			"have the same numbers there: %s", pid, found.Doubt)
	}
	for ordinal, place := range found.Places {
		if devices[place.Device].Index != ordinal {
			return fmt.Errorf("NVML answered after pid %d had loaded the CUDA driver, and GPUs have other numbers "+
				"there", pid)
		}
	}
	used.note(devices, found)
	return nil
}
