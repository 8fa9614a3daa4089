package report

import (
	_ "embed"
	"io"
	"slices"

	"ipytracer/model"
)

//go:embed schema/check-v1.schema.json
var checkSchemaV1 []byte

// CheckSchemaJSON returns the JSON Schema (draft 2020-12) that every output of [CheckJSON] follows. It refers to
// [SchemaJSON]'s definitions by its $id.
func CheckSchemaJSON() []byte { return slices.Clone(checkSchemaV1) }

// CheckJSON writes a check as one JSON object that follows [CheckSchemaJSON].
func CheckJSON(w io.Writer, k *model.Check) error {
	c := *k
	c.Schema = model.CheckSchema
	c.Processes, c.Checked, c.ToFree = list(k.Processes), list(k.Checked), list(k.ToFree)
	return newDocument(w).plain(c, "check")
}
