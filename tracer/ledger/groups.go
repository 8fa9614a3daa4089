package ledger

import (
	"fmt"

	"ipytracer/event"
)

// Group names probes that are stepped down together when they cost more than the budget. Their numbers are the kernel's.
type Group uint32

// step is the class in which a group is stepped down, as enum step_class of bpf/budget.h.
type step uint8

const (
	stepNever step = iota
	stepNative
	stepLines
	stepSmall
	stepMeter
	stepCells
)

// groups are what is known of each.
var groups = [GroupCount]struct {
	name string // for people
	step step
	text string // of the boundaries that say that it was stepped down, or up
}{
	GroupNumPy:       {name: "numpy", step: stepMeter, text: event.ArrayProbes},
	GroupStatement:   {name: "statements", step: stepCells},
	GroupResult:      {name: "cell ends", step: stepCells},
	GroupCell:        {name: "cell starts"},
	GroupSignal:      {name: "prompts"},
	GroupCode:        {name: "code objects"},
	GroupDriver:      {name: "CUDA driver"},
	GroupTorch:       {name: "PyTorch totals", step: stepMeter, text: event.TorchTotals},
	GroupLoader:      {name: "libraries"},
	GroupFrames:      {name: "Python stacks", step: stepLines, text: event.Stacks},
	GroupTensors:     {name: "PyTorch blocks", step: stepLines, text: event.TensorStacks},
	GroupMapping:     {name: "mapped memory", step: stepLines, text: event.MappedStacks},
	GroupHeap:        {name: "allocator"},
	GroupBlocks:      {name: "heap blocks", step: stepLines, text: event.HeapStacks},
	GroupNative:      {name: "native frames", step: stepNative, text: event.NativeStacks},
	GroupSmallStacks: {name: "stacks of small blocks", step: stepLines, text: event.SmallStacks},
	GroupSmall:       {name: "small blocks", step: stepSmall, text: event.SmallBlocks},
	GroupTorchCPU:    {name: "PyTorch on the CPU", step: stepMeter, text: event.TorchCPU},
}

// String returns the group's name for people.
func (g Group) String() string {
	if g < GroupCount {
		return groups[g].name
	}
	return "unknown"
}

// Level is the part of a full account below which a group is stepped down, 0.75 for the first ones. ok is false for groups that never are.
func (g Group) Level() (part float64, ok bool) {
	if g >= GroupCount || groups[g].step == stepNever {
		return 0, false
	}
	if groups[g].step == stepCells {
		return -4. / 8, true
	}
	return 1 - float64(groups[g].step)/4, true
}

// Text is what a MeterShed or MeterBack boundary that is about the group has as its Text: one of package event's where it serves a meter or stacks.
func (g Group) Text() string {
	if _, ok := g.Level(); ok && groups[g].step != stepCells {
		return groups[g].text
	}
	return fmt.Sprintf("the probes on %v were stepped down to keep the overhead budget", g)
}
