package tracer

import (
	"slices"

	"ipytracer/event"
	"ipytracer/tracer/gpu"
)

// shares are the MIG devices that targets use, by the GPU's index: their UUIDs. A process that uses one has its memory,
// and no more.
type shares map[int][]string

// note takes in which devices a target's ordinals are, if that is certain.
func (s *shares) note(devices []gpu.Device, found gpu.Ordinals) {
	if found.Doubt != "" {
		return
	}
	for _, place := range found.Places {
		g := &devices[place.Device]
		if place.Instance < 0 || slices.Contains((*s)[g.Index], g.Instances[place.Instance].UUID) {
			continue
		}
		if *s == nil {
			*s = shares{}
		}
		(*s)[g.Index] = append((*s)[g.Index], g.Instances[place.Instance].UUID)
	}
}

// limit puts into what a GPU is called, and into how much memory it has, that targets use a MIG device of it. Of a GPU
// of which they use several, or nobody knows which, it is not known how much memory they have.
func (s shares) limit(g *gpu.Device, named *event.GPU) {
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
		named.Name = clean(g.Name + " " + one.Name)
		if one.Memory.Known {
			named.Memory = event.Bytes(one.Memory.Total)
		}
	}
}
