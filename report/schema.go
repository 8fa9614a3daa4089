package report

import (
	_ "embed"
	"slices"
)

//go:embed schema/report-v1.schema.json
var schemaV1 []byte

//go:embed schema/audit-v1.schema.json
var auditSchemaV1 []byte

// AuditSchemaJSON returns the JSON Schema (draft 2020-12) that every output of [AuditJSON] follows. It refers to
// [SchemaJSON]'s definitions by its $id.
func AuditSchemaJSON() []byte { return slices.Clone(auditSchemaV1) }

// SchemaJSON returns the JSON Schema (draft 2020-12) that every output of [JSON] follows.
func SchemaJSON() []byte { return slices.Clone(schemaV1) }
