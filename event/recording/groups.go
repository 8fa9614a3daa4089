package recording

import (
	"slices"

	"ipytracer/event"
)

// groups are the texts of groups of probes in recordings. They are part of the format, so they stay as they are; the
// words of reports are in internal/words.
var groups = withMeters([event.Groups]string{
	event.ArrayProbes:   "",
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
})

// withMeters adds the texts of groups that stop one meter: its name.
func withMeters(texts [event.Groups]string) [event.Groups]string {
	for g := range texts {
		if m, ok := event.Group(g).Only(); ok {
			texts[g] = m.String()
		}
	}
	return texts
}

// isOfGroup reports whether the text of a kind of boundary names a group of probes.
func isOfGroup(k event.BoundaryKind) bool { return k == event.MeterShed || k == event.MeterBack }

// textOf returns the text of a boundary's row.
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

// setText gives a boundary the text of its row. The text of a group that only another tracer knows stays as it is.
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
