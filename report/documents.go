package report

import (
	"embed"
	"fmt"
	"io"
	"iter"
	"path"
	"reflect"
	"strings"

	"ipytracer/model"
)

//go:embed schema/*.json
var schemas embed.FS

// Schemas returns the JSON Schemas (draft 2020-12) that the outputs of this package follow, by the name that an output
// has in its schema member: ipytracer/report/v1. They refer to each other by their $id.
func Schemas() map[string][]byte {
	all := map[string][]byte{}
	files, err := schemas.ReadDir("schema")
	for _, f := range files {
		var text []byte
		if text, err = schemas.ReadFile(path.Join("schema", f.Name())); err != nil {
			break
		}
		kind, version, _ := strings.Cut(strings.TrimSuffix(f.Name(), ".schema.json"), "-")
		all["ipytracer/"+kind+"/"+version] = text
	}
	if err != nil {
		panic(err) // the files are a part of the program
	}
	return all
}

// AuditJSON writes an audit as one JSON object that follows its schema, as [JSON] does.
func AuditJSON(w io.Writer, audit *model.Audit) error {
	findings := *audit
	findings.Schema = model.AuditSchema
	findings.Processes, findings.Held, findings.NotJudged = list(audit.Processes), list(audit.Held),
		list(audit.NotJudged)
	findings.Verdicts, findings.Live = list(audit.Verdicts), list(audit.Live)
	return newDocument(w).write(reflect.ValueOf(findings), nil, "audit")
}

// GlanceJSON writes a glance as one JSON object that follows its schema, as [JSON] does.
func GlanceJSON(w io.Writer, glance *model.Glance) error {
	c := *glance
	c.Schema = model.GlanceSchema
	c.Kernels = list(glance.Kernels)
	c.Lacks.Reasons, c.Lacks.SteppedDown = list(glance.Lacks.Reasons), list(glance.Lacks.SteppedDown)
	return newDocument(w).write(reflect.ValueOf(c), nil, "glance")
}

// DiffJSON writes a comparison as one JSON object that follows its schema, a line for each item of its lists.
func DiffJSON(w io.Writer, d *model.Diff) error { return newDocument(w).plain(*d, "comparison") }

// PlanJSON writes a plan as one JSON object that follows its schema.
func PlanJSON(w io.Writer, p *model.Plan) error { return newDocument(w).plain(*p, "plan") }

// AdviceJSON writes advice as one JSON object that follows its schema.
func AdviceJSON(w io.Writer, a *model.Advice) error { return newDocument(w).plain(*a, "advice") }

// CheckJSON writes a check as one JSON object that follows its schema.
func CheckJSON(w io.Writer, check *model.Check) error {
	c := *check
	c.Schema = model.CheckSchema
	c.Processes, c.Checked, c.ToFree = list(check.Processes), list(check.Checked), list(check.ToFree)
	return newDocument(w).plain(c, "check")
}

// TrialJSON writes a trial as one JSON object that follows its schema.
func TrialJSON(w io.Writer, t *model.Trial) error { return newDocument(w).plain(*t, "trial") }

// MergeJSON writes merged recordings as one JSON object that follows its schema. Its last member has the report
// of each recording, byte for byte as [JSON] writes it; reports are asked for one after another. It fails with the
// error of a report.
func MergeJSON(w io.Writer, merge *model.Merge, reports iter.Seq2[*model.Report, error]) error {
	d := newDocument(w)
	d.fields(reflect.ValueOf(*merge), nil)
	d.member("reports")
	d.put([]byte("["))
	width := 0
	for r, err := range reports {
		if err != nil {
			return err
		}
		if width++; width > 1 {
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
