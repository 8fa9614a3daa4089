// Package reporttest helps tests check reports: every JSON report a test sees is to pass through it.
package reporttest

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"ipytracer/report"
)

// Validate fails the test if data is not a report that follows the published JSON Schema.
func Validate(t testing.TB, data []byte) {
	t.Helper()
	if err := Check(data); err != nil {
		t.Errorf("JSON report does not follow its schema: %v", err)
	}
}

// Report renders r as JSON, validates it and returns the bytes.
func Report(t testing.TB, r *report.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := report.JSON(&b, r); err != nil {
		t.Fatalf("JSON: %v", err)
	}
	Validate(t, b.Bytes())
	return b.Bytes()
}

// Check returns what is wrong with data as a JSON report, or nil.
func Check(data []byte) error {
	const name = "report-v1.schema.json"
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(report.SchemaJSON()))
	if err != nil {
		return err
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(name, document); err != nil {
		return err
	}
	schema, err := compiler.Compile(name)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}
