// Package reporttest has the common parts of tests of reports. They are fixtures, goldens, and the check against the
// JSON Schema, which every JSON report that a test sees must pass. Only tests import it, and it prints no report
// itself.
package reporttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"ipytracer/model"
	"ipytracer/report"
)

// Validate fails the test if data is not a report that follows the published JSON Schema.
func Validate(t testing.TB, data []byte) {
	t.Helper()
	if err := Check(data); err != nil {
		t.Errorf("JSON report does not follow its schema: %v", err)
	}
}

// Report renders a report as JSON, validates it and returns the bytes.
func Report(t testing.TB, session *model.Report) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := report.JSON(&out, session); err != nil {
		t.Fatalf("JSON: %v", err)
	}
	Validate(t, out.Bytes())
	return out.Bytes()
}

// Audit renders an audit as JSON, validates it and returns the bytes.
func Audit(t testing.TB, audit *model.Audit) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := report.AuditJSON(&out, audit); err != nil {
		t.Fatalf("JSON: %v", err)
	}
	if err := CheckAudit(out.Bytes()); err != nil {
		t.Errorf("JSON audit does not follow its schema: %v", err)
	}
	return out.Bytes()
}

// Diff renders a comparison as JSON, validates it and returns the bytes.
func Diff(t testing.TB, diff *model.Diff) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := report.DiffJSON(&out, diff); err != nil {
		t.Fatalf("JSON: %v", err)
	}
	if err := check("urn:ipytracer:diff:v1", out.Bytes()); err != nil {
		t.Errorf("JSON comparison does not follow its schema: %v", err)
	}
	return out.Bytes()
}

// Plan renders a plan as JSON, validates it and returns the bytes.
func Plan(t testing.TB, plan *model.Plan) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := report.PlanJSON(&out, plan); err != nil {
		t.Fatalf("JSON: %v", err)
	}
	if err := check("urn:ipytracer:plan:v1", out.Bytes()); err != nil {
		t.Errorf("JSON plan does not follow its schema: %v", err)
	}
	return out.Bytes()
}

// Trial renders a trial as JSON, validates it and returns the bytes.
func Trial(t testing.TB, trial *model.Trial) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := report.TrialJSON(&out, trial); err != nil {
		t.Fatalf("JSON: %v", err)
	}
	if err := CheckTrial(out.Bytes()); err != nil {
		t.Errorf("JSON trial does not follow its schema: %v", err)
	}
	return out.Bytes()
}

// The functions below return an error if data does not follow its published JSON Schema.

// CheckTrial checks a trial as JSON.
func CheckTrial(data []byte) error { return check("urn:ipytracer:trial:v1", data) }

// Merge renders merged recordings as JSON with their reports, validates it and returns the bytes.
func Merge(t testing.TB, merge *model.Merge, reports iter.Seq2[*model.Report, error]) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := report.MergeJSON(&out, merge, reports); err != nil {
		t.Fatalf("JSON: %v", err)
	}
	if err := CheckMerge(out.Bytes()); err != nil {
		t.Errorf("JSON of merged recordings does not follow its schema: %v", err)
	}
	return out.Bytes()
}

// CheckMerge checks merged recordings as JSON.
func CheckMerge(data []byte) error { return check("urn:ipytracer:merge:v1", data) }

// Check checks a report as JSON, and that the parts of its accounts add up.
func Check(data []byte) error {
	return errors.Join(check("urn:ipytracer:report:v1", data), checkAccounts(data))
}

// checkAccounts returns an error if the parts of an account in a report do not add up.
func checkAccounts(data []byte) error {
	var r struct {
		Accounts []model.Account `json:"accounts"`
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	for i := range r.Accounts {
		if left := r.Accounts[i].Left(); left != 0 {
			return fmt.Errorf("the parts of an account of %d bytes lack %d", r.Accounts[i].Bytes, left)
		}
	}
	return nil
}

// CheckAudit checks an audit as JSON.
func CheckAudit(data []byte) error { return check("urn:ipytracer:audit:v1", data) }

// CheckCheck checks the JSON of `tracer check`.
func CheckCheck(data []byte) error { return check("urn:ipytracer:check:v1", data) }

// CheckGlance checks a glance as JSON.
func CheckGlance(data []byte) error { return check("urn:ipytracer:top:v1", data) }

// CheckAdvice checks advice as JSON.
func CheckAdvice(data []byte) error { return check("urn:ipytracer:advice:v1", data) }

// check returns an error if data does not follow the schema with an id.
func check(id string, data []byte) error {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	for name, text := range report.Schemas() {
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return err
		}
		if err := compiler.AddResource("urn:"+strings.ReplaceAll(name, "/", ":"), document); err != nil {
			return err
		}
	}
	schema, err := compiler.Compile(id)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}
