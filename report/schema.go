package report

import (
	_ "embed"
	"slices"
)

//go:embed schema/report-v1.schema.json
var schemaV1 []byte

// SchemaJSON returns the JSON Schema (draft 2020-12) that every output of [JSON] follows.
func SchemaJSON() []byte { return slices.Clone(schemaV1) }
