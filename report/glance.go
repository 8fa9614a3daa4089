package report

import (
	_ "embed"
	"io"
	"reflect"
	"slices"

	"ipytracer/model"
)

//go:embed schema/top-v1.schema.json
var topSchemaV1 []byte

// GlanceSchemaJSON returns the JSON Schema (draft 2020-12) that every output of [GlanceJSON] follows. It refers to
// [SchemaJSON]'s definitions by its $id.
func GlanceSchemaJSON() []byte { return slices.Clone(topSchemaV1) }

// GlanceJSON writes a glance as one JSON object that follows [GlanceSchemaJSON], as [JSON] does.
func GlanceJSON(w io.Writer, g *model.Glance) error {
	c := *g
	c.Schema = model.GlanceSchema
	c.Kernels = list(g.Kernels)
	c.Lacks.Reasons, c.Lacks.SteppedDown = list(g.Lacks.Reasons), list(g.Lacks.SteppedDown)
	return newDocument(w).write(reflect.ValueOf(c), nil, "glance")
}

// GlanceWithoutSource returns a glance without the notebook's source: no text of cells, and no keys in the names of
// variables.
func GlanceWithoutSource(g *model.Glance) *model.Glance {
	c := *g
	c.Kernels = slices.Clone(g.Kernels)
	for i := range c.Kernels {
		k := &c.Kernels[i]
		k.Cell, k.Statement = withoutText(k.Cell), withoutText(k.Statement)
		k.Cells = slices.Clone(k.Cells)
		for n := range k.Cells {
			k.Cells[n] = *withoutText(&k.Cells[n])
		}
		k.Variables = VariablesWithoutSource(k.Variables)
	}
	return &c
}

// VariablesWithoutSource returns variables without the notebook's source: no keys in their names.
func VariablesWithoutSource(all []model.Variable) []model.Variable {
	all = slices.Clone(all)
	for i := range all {
		v := &all[i]
		v.Name, v.Also = WithoutKeys(v.Name), slices.Clone(v.Also)
		for n := range v.Also {
			v.Also[n] = WithoutKeys(v.Also[n])
		}
		v.Columns = slices.Clone(v.Columns)
		for n := range v.Columns {
			v.Columns[n].Name = "[…]"
		}
	}
	return all
}

func withoutText(w *model.Window) *model.Window {
	if w == nil {
		return nil
	}
	c := *w
	c.Source = ""
	return &c
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
