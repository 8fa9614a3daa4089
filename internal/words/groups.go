package words

import (
	"cmp"

	"ipytracer/event"
	"ipytracer/model"
)

// groups describe groups of probes that are stepped down. [event.ArrayProbes] has no text of its own, and a group that
// stops one meter has the meter's name.
var groups = [event.Groups]string{
	event.ForeignArrays: "blocks of another NumPy, or of another memory handler",
	event.SmallBlocks:   "NumPy's small blocks",
	event.TorchTotals:   "gpu.*.active, gpu.*.reserved",
	event.Stacks:        "stacks",
	event.SmallStacks:   "stacks of blocks below 64 KiB",
	event.NativeStacks:  "native frames",
	event.TensorStacks:  "stacks of PyTorch's blocks",
	event.MappedStacks:  "stacks of mapped memory",
	event.HeapStacks:    "stacks of malloc's blocks",
	event.Statements:    "the probes on statements were stepped down to keep the overhead budget",
	event.CellEnds:      "the probes on cell ends were stepped down to keep the overhead budget",
}

// Group describes a group of probes that is stepped down; "" for those of NumPy's meter, and for another tracer's.
func Group(g event.Group) string {
	if m, ok := g.Only(); ok {
		return m.String()
	}
	return groups[g]
}

// GapOf returns the reason of a [model.Gap] that a group makes.
func GapOf(g event.Group) string { return cmp.Or(Group(g), model.GapStepped) }
