package report

import (
	_ "embed"
	"io"
	"slices"

	"ipytracer/model"
)

//go:embed schema/diff-v1.schema.json
var diffSchemaV1 []byte

// DiffSchemaJSON returns the JSON Schema (draft 2020-12) that every output of [DiffJSON] follows. It refers to [SchemaJSON]'s definitions by
// its $id.
func DiffSchemaJSON() []byte { return slices.Clone(diffSchemaV1) }

// DiffJSON writes a comparison as one JSON object that follows [DiffSchemaJSON], a line for each item of its lists.
func DiffJSON(w io.Writer, d *model.Diff) error { return newDocument(w).plain(*d, "comparison") }

// DiffWithoutSource returns a copy of a comparison without the texts of the notebook.
func DiffWithoutSource(d *model.Diff) *model.Diff {
	c := *d
	c.Whole, c.Cells = list(d.Whole), list(d.Cells)
	for i := range c.Whole {
		c.Whole[i].Command = withoutCode(c.Whole[i].Command)
	}
	for i := range c.Cells {
		row := &c.Cells[i]
		row.A, row.B = bareCell(row.A), bareCell(row.B)
		row.Lines = list(row.Lines)
		for k := range row.Lines {
			row.Lines[k].Source = ""
		}
	}
	return &c
}

func bareCell(x *model.DiffCell) *model.DiffCell {
	if x == nil {
		return nil
	}
	c := *x
	c.Source, c.SourceTruncated = "", false
	return &c
}
