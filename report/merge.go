package report

import (
	_ "embed"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"

	"ipytracer/model"
)

//go:embed schema/merge-v1.schema.json
var mergeSchemaV1 []byte

// MergeSchemaJSON returns the JSON Schema (draft 2020-12) that every output of [MergeJSON] follows. It refers to
// [SchemaJSON] by its $id.
func MergeSchemaJSON() []byte { return slices.Clone(mergeSchemaV1) }

// MergeJSON writes merged recordings as one JSON object that follows [MergeSchemaJSON]. Its last member has the report
// of each recording, byte for byte as [JSON] writes it; reports are asked for one after another. It fails with the
// error of a report.
func MergeJSON(w io.Writer, m *model.Merge, reports iter.Seq2[*model.Report, error]) error {
	d := newDocument(w)
	d.fields(reflect.ValueOf(*m), nil)
	d.member("reports")
	d.put([]byte("["))
	n := 0
	for r, err := range reports {
		if err != nil {
			return err
		}
		if n++; n > 1 {
			d.put([]byte(","))
		}
		d.put([]byte("\n"))
		if err := d.to.Flush(); err != nil {
			return fmt.Errorf("encode merge: %w", err)
		}
		if err := JSON(w, r); err != nil {
			return err
		}
	}
	d.put([]byte("]"))
	return d.end("merge")
}

// MergeWithoutSource returns a copy of merged recordings without any text of the notebooks.
func MergeWithoutSource(m *model.Merge) *model.Merge {
	c := *m
	c.Cells = list(m.Cells)
	for i := range c.Cells {
		c.Cells[i].Source = ""
	}
	return &c
}
