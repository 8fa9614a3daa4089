package recording

import (
	"slices"

	"ipytracer/event"
)

// groups are the names of groups of probes in recordings. They are part of the format and must not change. The names in
// reports are in internal/words.
var groups = withMeters([event.Groups]string{
	event.ArrayProbes:    "",
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
})

// withMeters adds the names of groups that stop one meter: the meter's id.
func withMeters(texts [event.Groups]string) [event.Groups]string {
	for g := range texts {
		if m, ok := event.Group(g).Only(); ok {
			texts[g] = m.String()
		}
	}
	return texts
}

// isOfGroup reports whether the text of such a boundary names a group of probes.
func isOfGroup(k event.BoundaryKind) bool { return k == event.MeterShed || k == event.MeterBack }

// textOf returns the text in a boundary's row.
func textOf(b *event.Boundary) string {
	switch text := b.Text(); {
	case text != nil:
		return *text
	case !isOfGroup(b.Kind):
		return ""
	case b.Group >= event.OtherProbes:
		return b.Probes
	}
	return groups[b.Group]
}

// setText sets the field of a boundary that belongs to the text of its row. The name of an unknown group goes to
// Probes.
func setText(b *event.Boundary, text string) {
	if field := b.Text(); field != nil {
		*field = text
	} else if isOfGroup(b.Kind) {
		if i := slices.Index(groups[:event.OtherProbes], text); i >= 0 {
			b.Group = event.Group(i)
		} else {
			b.Group, b.Probes = event.OtherProbes, text
		}
	}
}
