package report

import "ipytracer/model"

// tabledKernel is a kernel with its stacks in tables.
type tabledKernel struct {
	model.Kernel
	Cell        *tabledWindow      `json:"cell"`
	Cells       []tabledWindow     `json:"cells,omitempty"`
	Statement   *tabledWindow      `json:"statement,omitempty"`
	Allocations []tabledAllocation `json:"allocations"`
	Variables   []tabledVariable   `json:"variables,omitempty"`
}

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

func (t *tables) windowAt(w *model.Window) *tabledWindow {
	if w == nil {
		return nil
	}
	out := &tabledWindow{Window: *w, Refused: t.refused(w.Refused)}
	out.Window.Children = list(w.Children)
	return out
}
