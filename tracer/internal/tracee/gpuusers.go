package tracee

import (
	"fmt"
	"maps"
	"slices"

	"ipytracer/event"
	"ipytracer/internal/gpu"
)

// gpuUsers are the processes that have the CUDA driver mapped.
type gpuUsers struct {
	alive map[int32]*gpuUser
	// ended has the environments of ended processes whose memory was counted by CUDA's numbers. Each environment has
	// the pid of one such process.
	ended map[gpu.Environment]int32
	// doubts are messages about the numbers of GPUs. They are reported if NVML never answers.
	doubts []string
}

type gpuUser struct {
	unnamed *gpu.Environment // its CUDA devices have CUDA's numbers: NVML had not answered yet
	counted bool             // it has had memory of a GPU
	stale   bool             // the certificate says that NVML does not answer for it
}

// maxEnded is the largest number of environments that are remembered. Children usually have the same environment as
// their parent.
const maxEnded = 100

func (all *gpuUsers) add(pid int32) *gpuUser {
	if all.alive == nil {
		all.alive = map[int32]*gpuUser{}
	}
	if all.alive[pid] == nil {
		all.alive[pid] = &gpuUser{}
	}
	return all.alive[pid]
}

// note reads the memory of GPUs from a boundary. It reports whether the boundary's process has, or had, memory of a
// GPU.
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

// forget drops a process that has ended. If its memory was counted by CUDA's numbers of GPUs, forget keeps its
// environment: NVML must use the same numbers later, or the recording would mix both.
func (all *gpuUsers) forget(pid int32) {
	if u := all.alive[pid]; u != nil && u.unnamed != nil && u.counted && len(all.ended) < maxEnded {
		if all.ended == nil {
			all.ended = map[gpu.Environment]int32{}
		}
		all.ended[*u.unnamed] = pid
	}
	delete(all.alive, pid)
}

// markStale reports, once for each process, that NVML did not answer and that its last answer is used instead.
func (all *gpuUsers) markStale(report *Certificate, since event.Nanoseconds, err error) {
	for _, pid := range slices.Sorted(maps.Keys(all.alive)) {
		if u := all.alive[pid]; !u.stale {
			u.stale = true
			report.Misses(int(pid), since, MetersOfNVML, "pid %d: gpu.N.unattributed is what it was before: %s",
				pid, Clean(err.Error()))
		}
	}
}

// doubt keeps a message, unless it is empty.
func (all *gpuUsers) doubt(text string) {
	if text != "" && len(all.doubts) < maxEnded {
		all.doubts = append(all.doubts, text)
	}
}

// sayDoubts reports the messages that were kept.
func (all *gpuUsers) sayDoubts(report *Certificate) {
	for _, text := range all.doubts {
		report.Problem("%s", text)
	}
	all.doubts = nil
}

// compare is called when NVML answers for the first time. It fails if the GPUs of any process may have other numbers in
// CUDA than in NVML. Otherwise it records the MIG devices that the processes use.
func (all *gpuUsers) compare(devices []gpu.Device, used *MIGShares) error {
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

func compare(devices []gpu.Device, pid int32, environment gpu.Environment, used *MIGShares) error {
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
	used.Note(devices, found)
	return nil
}

// MIGShares maps a GPU's index to the UUIDs of those of its MIG devices that targets use. A process that uses a MIG
// device has only the memory of that device.
type MIGShares map[int][]string

// Note records the MIG devices among a target's CUDA ordinals, unless they are in doubt.
func (s *MIGShares) Note(devices []gpu.Device, found gpu.Ordinals) {
	if found.Doubt != "" {
		return
	}
	for _, place := range found.Places {
		g := &devices[place.Device]
		if place.Instance < 0 || slices.Contains((*s)[g.Index], g.Instances[place.Instance].UUID) {
			continue
		}
		if *s == nil {
			*s = MIGShares{}
		}
		(*s)[g.Index] = append((*s)[g.Index], g.Instances[place.Instance].UUID)
	}
}

// Limit adds the MIG device that targets use to a GPU's name, and sets the GPU's memory to that of the device. If
// targets use several devices of the GPU, or it is not known which, the memory is unknown.
func (s MIGShares) Limit(g *gpu.Device, named *event.GPU) {
	if g.MIG != gpu.MIGOn {
		return
	}
	named.Memory = 0
	used := s[g.Index]
	if len(used) == 0 && len(g.Instances) == 1 {
		used = []string{g.Instances[0].UUID}
	}
	for i := range g.Instances {
		instance := &g.Instances[i]
		if len(used) != 1 || instance.UUID != used[0] {
			continue
		}
		named.Name = Clean(g.Name + " " + instance.Name)
		if instance.Memory.Known {
			named.Memory = event.Bytes(instance.Memory.Total)
		}
	}
}
