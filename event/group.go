package event

import "slices"

// Group names probes, or kinds of their reports, that are stepped down and put back together. A [MeterShed] or
// [MeterBack] boundary concerns one group. internal/words has its description for people.
type Group uint8

// The groups. Where several of them stop a meter, the last one is the reason that is shown.
const (
	ArrayProbes Group = iota // the probes of [NumPy]
	// ForeignArrays are blocks that the probes in NumPy do not see: blocks of a foreign memory handler (NEP 49), or of
	// another NumPy than expected. They stay out until other probes see them. Known blocks stay known.
	ForeignArrays
	SmallBlocks  // NumPy's blocks below 1,024 bytes, where those are counted
	TorchCPU     // the probes of [Torch]
	ArrowPools   // the probes of [Arrow]
	TorchTotals  // PyTorch's meters of every GPU
	Stacks       // the stacks of allocations
	SmallStacks  // the stacks of all blocks and ranges below 64 KiB
	NativeStacks // the native frames of all stacks
	TensorStacks // PyTorch's blocks on GPUs and their stacks
	MappedStacks // the stacks of mapped memory
	HeapStacks   // malloc's blocks and their stacks
	Statements   // the probes on statements; no meter is paused meanwhile
	CellEnds     // the probes on the ends of cells
	// OtherProbes are probes that only the tracer of the recording knows. [Boundary.Probes] names them.
	OtherProbes

	Groups = OtherProbes + 1 // the number of groups
)

// Paused returns the meters that a group stops, of every GPU.
func (g Group) Paused() (meters []Meter) {
	for m := range Meter(MeterCount) {
		if slices.Contains(m.Facts().Paused, g) {
			meters = append(meters, m)
		}
	}
	return meters
}

// Only returns the meter of the CPU that a group stops, if the group stops no other meter and no other group stops this
// one. Such a group needs no text of its own: it has the meter's name.
func (g Group) Only() (m Meter, ok bool) {
	paused := g.Paused()
	if len(paused) != 1 || paused[0] >= CPUMeters || len(paused[0].Facts().Paused) != 1 {
		return 0, false
	}
	return paused[0], true
}

// IsOfStacks reports whether a group is about stacks, or about blocks that are reported for their stacks.
func (g Group) IsOfStacks() bool {
	pauses := func(f Facts) bool { return slices.Contains(f.StacksPaused, g) }
	return g == NativeStacks || slices.ContainsFunc(table, pauses)
}

// Forgotten returns the meters whose known blocks have an unknown fate once a group is stepped down.
func (g Group) Forgotten() []Meter {
	return MetersOf(func(f *Facts) bool { return f.Forgotten && slices.Contains(f.BlocksPaused, g) })
}
