package report

import "ipytracer/model"

// The types below are the parts of the model that have stacks or frames, as they are in JSON. A field of the outer
// struct replaces the embedded one's of the same name: it has the number of the stack or frame.

type tabledAllocation struct {
	model.Allocation
	Stack int `json:"stack"`
}

type tabledWindow struct {
	model.Window
	Refused     []tabledRefusal    `json:"refused,omitempty"`
	Allocations []tabledAllocation `json:"allocations,omitempty"`
}

type tabledBetween struct {
	model.Between
	Refused []tabledRefusal `json:"refused,omitempty"`
}

type tabledLine struct {
	model.Line
	Frame int `json:"frame"`
}

type tabledTensors struct {
	model.Tensors
	Stack int `json:"stack"`
}

type tabledCopied struct {
	model.Copied
	Stack int `json:"stack"`
}

type tabledVariable struct {
	model.Variable
	Stack int `json:"stack"`
}

type tabledVerdict struct {
	model.Verdict
	Stack int `json:"stack"`
}

type tabledLive struct {
	model.LiveBlocks
	Stack int `json:"stack"`
}

// wire returns an item of a list as [json.Marshal] is to encode it, without nil lists and maps. Frequent items do not
// go through wire: see [encoder.item].
func (t *tables) wire(item any) any {
	switch x := item.(type) {
	case model.Line:
		return tabledLine{x, t.frame(&x.Frame)}
	case model.Tensors:
		return tabledTensors{x, t.stack(x.Stack, false)}
	case model.Copied:
		return tabledCopied{x, t.stack(x.Stack, false)}
	case model.Variable:
		return tabledVariable{x, t.stack(x.Stack, false)}
	case model.Kernel:
		return t.kernel(x)
	case model.Verdict:
		x.Executions, x.ExecutionCounts = list(x.Executions), list(x.ExecutionCounts)
		return tabledVerdict{x, t.stack(x.Stack, false)}
	case model.LiveBlocks:
		x.Executions, x.ExecutionCounts = list(x.Executions), list(x.ExecutionCounts)
		return tabledLive{x, t.stack(x.Stack, false)}
	}
	return item
}

// tabledKernel is a kernel with its stacks in tables.
type tabledKernel struct {
	model.Kernel
	Cell        *tabledWindow      `json:"cell"`
	Cells       []tabledWindow     `json:"cells,omitempty"`
	Statement   *tabledWindow      `json:"statement,omitempty"`
	Allocations []tabledAllocation `json:"allocations"`
	Variables   []tabledVariable   `json:"variables,omitempty"`
}

// kernel returns a kernel as it is in JSON.
func (t *tables) kernel(k model.Kernel) tabledKernel {
	out := tabledKernel{
		Kernel: k, Cell: t.windowAt(k.Cell), Statement: t.windowAt(k.Statement), Allocations: []tabledAllocation{},
	}
	for i := range k.Cells {
		out.Cells = append(out.Cells, *t.windowAt(&k.Cells[i]))
	}
	for _, a := range k.Allocations {
		out.Allocations = append(out.Allocations, tabledAllocation{a, t.stack(a.Stack, a.StackTruncated)})
	}
	for _, v := range k.Variables {
		out.Variables = append(out.Variables, tabledVariable{v, t.stack(v.Stack, false)})
	}
	out.Kernel.Children = list(k.Children)
	return out
}

// windowAt returns a window of a glance as it is in JSON; nil for nil.
func (t *tables) windowAt(window *model.Window) *tabledWindow {
	if window == nil {
		return nil
	}
	out := &tabledWindow{Window: *window, Refused: t.refused(window.Refused)}
	out.Window.Children = list(window.Children)
	return out
}

type tabledRefusal struct {
	model.Refusal
	Stack    int             `json:"stack,omitempty"`
	Dividers []tabledDivider `json:"dividers,omitempty"`
}

type tabledDivider struct {
	model.Divider
	Stack int `json:"stack"`
}

// refused returns refused requests as they are in JSON.
func (t *tables) refused(refusals []model.Refusal) (out []tabledRefusal) {
	for _, r := range refusals {
		refusal := tabledRefusal{Refusal: r, Stack: t.stack(r.Stack, false)}
		for _, d := range r.Dividers {
			refusal.Dividers = append(refusal.Dividers, tabledDivider{d, t.stack(d.Stack, false)})
		}
		out = append(out, refusal)
	}
	return out
}
