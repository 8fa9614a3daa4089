package gpus

import (
	"slices"

	"ipytracer/event"
	"ipytracer/internal/gpu"
	"ipytracer/tracer/internal/tracee"
)

// Shares maps a GPU's index to the UUIDs of its MIG devices that targets use. A process that uses a MIG device has the
// memory of that device, and no more.
type Shares map[int][]string

// Note records the MIG devices among a target's CUDA ordinals, unless they are in doubt.
func (s *Shares) Note(devices []gpu.Device, found gpu.Ordinals) {
	if found.Doubt != "" {
		return
	}
	for _, place := range found.Places {
		g := &devices[place.Device]
		if place.Instance < 0 || slices.Contains((*s)[g.Index], g.Instances[place.Instance].UUID) {
			continue
		}
		if *s == nil {
			*s = Shares{}
		}
		(*s)[g.Index] = append((*s)[g.Index], g.Instances[place.Instance].UUID)
	}
}

// Limit adds the MIG device that targets use to a GPU's name, and sets the GPU's memory to that of the device. If
// targets use several devices of the GPU, or it is not known which, the memory is unknown.
func (s Shares) Limit(g *gpu.Device, named *event.GPU) {
	if g.MIG != gpu.MIGOn {
		return
	}
	named.Memory = 0
	used := s[g.Index]
	if len(used) == 0 && len(g.Instances) == 1 {
		used = []string{g.Instances[0].UUID}
	}
	for i := range g.Instances {
		one := &g.Instances[i]
		if len(used) != 1 || one.UUID != used[0] {
			continue
		}
		named.Name = tracee.Clean(g.Name + " " + one.Name)
		if one.Memory.Known {
			named.Memory = event.Bytes(one.Memory.Total)
		}
	}
}
