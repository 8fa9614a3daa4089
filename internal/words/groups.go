package words

import (
	"cmp"

	"ipytracer/event"
	"ipytracer/model"
)

// groups are the names of groups of probes that can be paused. [event.ArrayProbes] has no text. A group that stops only
// one meter has that meter's name, see [Group].
var groups = [event.Groups]string{
	event.ForeignArrays:  "blocks of another NumPy, or of another memory handler",
	event.SmallBlocks:    "NumPy's small blocks",
	event.TorchTotals:    "gpu.*.active, gpu.*.reserved",
	event.Stacks:         "stacks",
	event.SmallStacks:    "stacks of blocks below 64 KiB",
	event.NativeStacks:   "native frames",
	event.TensorStacks:   "stacks of PyTorch's blocks",
	event.MappedStacks:   "stacks of mapped memory",
	event.HeapStacks:     "stacks of malloc's blocks",
	event.CountedArrays:  "stacks of small arrays, which the process counts itself",
	event.CountedHeap:    "stacks of malloc's small blocks, which the process counts itself",
	event.CountedTensors: "stacks of small tensors, which the process counts itself",
	event.Statements:     "the probes on statements were stepped down to keep the overhead budget",
	event.CellEnds:       "the probes on cell ends were stepped down to keep the overhead budget",
}

// Group returns the name of a group of probes; "" for [event.ArrayProbes], and for a group that only a newer tracer
// has.
func Group(g event.Group) string {
	if m, ok := g.Only(); ok {
		return m.String()
	}
	return groups[g]
}

// GapOf returns the reason of a [model.Gap] that a group's pause makes.
func GapOf(g event.Group) string { return cmp.Or(Group(g), model.GapStepped) }
