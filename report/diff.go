package report

import (
	_ "embed"
	"io"
	"slices"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

//go:embed schema/diff-v1.schema.json
var diffSchemaV1 []byte

// DiffSchemaJSON returns the JSON Schema (draft 2020-12) that every output of [DiffJSON] follows. It refers to
// [SchemaJSON]'s definitions by its $id.
func DiffSchemaJSON() []byte { return slices.Clone(diffSchemaV1) }

// DiffJSON writes a comparison as one JSON object that follows [DiffSchemaJSON], a line for each item of its lists.
func DiffJSON(w io.Writer, d *model.Diff) error { return newDocument(w).plain(*d, "comparison") }

// DiffWithoutSource returns a copy of a comparison without the texts of the notebook.
func DiffWithoutSource(d *model.Diff) *model.Diff {
	c := *d
	c.Whole, c.Cells, c.Causes = list(d.Whole), list(d.Cells), list(d.Causes)
	for i := range c.Whole {
		c.Whole[i].Command = withoutCode(c.Whole[i].Command)
	}
	for i := range c.Cells {
		row := &c.Cells[i]
		row.A, row.B = bareCell(row.A), bareCell(row.B)
		row.Why, row.Reads = bareReads(d, row, row.Why), slices.Clone(row.Reads)
		for k := range row.Reads {
			row.Reads[k].Name = ""
		}
		row.Lines = list(row.Lines)
		for k := range row.Lines {
			row.Lines[k].Source = ""
		}
	}
	for i := range c.Causes {
		x := &c.Causes[i]
		x.Why, x.Follows = bareReads(d, &d.Cells[x.Cell], x.Why), slices.Clone(x.Follows)
		for k := range x.Follows {
			f := &x.Follows[k]
			f.Why = bareReads(d, &d.Cells[f.Cell], f.Why)
		}
	}
	return &c
}

// bareReads returns the reason of a cell's change, without the names that it reads.
func bareReads(d *model.Diff, row *model.CellDiff, why string) string {
	if len(row.Reads) == 0 {
		return why
	}
	bare := slices.Clone(row.Reads)
	for i := range bare {
		bare[i].Name = ""
	}
	return strings.Replace(why, words.WhyReads(d, row.Reads), words.WhyReads(d, bare), 1)
}

func bareCell(x *model.DiffCell) *model.DiffCell {
	if x == nil {
		return nil
	}
	c := *x
	c.Source, c.SourceTruncated = "", false
	return &c
}
