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

// Schemas returns the JSON Schemas (draft 2020-12) that the outputs of this package follow. The keys are the values of
// an output's member "schema", such as ipytracer/report/v1. Schemas refer to each other by their $id.
func Schemas() map[string][]byte {
	byName := map[string][]byte{}
	files, err := schemas.ReadDir("schema")
	for _, f := range files {
		var text []byte
		if text, err = schemas.ReadFile(path.Join("schema", f.Name())); err != nil {
			break
		}
		kind, version, _ := strings.Cut(strings.TrimSuffix(f.Name(), ".schema.json"), "-")
		byName["ipytracer/"+kind+"/"+version] = text
	}
	if err != nil {
		panic(err) // the files are a part of the program
	}
	return byName
}

// AuditJSON writes an audit as one JSON object that follows its schema. Empty lists of an audit are [], not null.
func AuditJSON(w io.Writer, audit *model.Audit) error {
	out := *audit
	out.Schema = model.AuditSchema
	out.Processes = list(audit.Processes)
	out.Held = list(audit.Held)
	out.NotJudged = list(audit.NotJudged)
	out.Verdicts = list(audit.Verdicts)
	out.Live = list(audit.Live)
	return newDocument(w).write(reflect.ValueOf(out), nil, "audit")
}

// GlanceJSON writes a glance as one JSON object that follows its schema. Empty lists of a glance are [], not null.
func GlanceJSON(w io.Writer, glance *model.Glance) error {
	out := *glance
	out.Schema = model.GlanceSchema
	out.Kernels = list(glance.Kernels)
	out.Lacks.Reasons, out.Lacks.SteppedDown = list(glance.Lacks.Reasons), list(glance.Lacks.SteppedDown)
	return newDocument(w).write(reflect.ValueOf(out), nil, "glance")
}

// DiffJSON writes a comparison as one JSON object that follows its schema, a line for each item of its lists.
func DiffJSON(w io.Writer, d *model.Diff) error { return newDocument(w).plain(*d, "comparison") }

// PlanJSON writes a plan as one JSON object that follows its schema.
func PlanJSON(w io.Writer, p *model.Plan) error { return newDocument(w).plain(*p, "plan") }

// AdviceJSON writes advice as one JSON object that follows its schema.
func AdviceJSON(w io.Writer, a *model.Advice) error { return newDocument(w).plain(*a, "advice") }

// CheckJSON writes a check as one JSON object that follows its schema. Empty lists of a check are [], not null.
func CheckJSON(w io.Writer, check *model.Check) error {
	out := *check
	out.Schema = model.CheckSchema
	out.Processes, out.Checked, out.ToFree = list(check.Processes), list(check.Checked), list(check.ToFree)
	return newDocument(w).plain(out, "check")
}

// TrialJSON writes a trial as one JSON object that follows its schema.
func TrialJSON(w io.Writer, t *model.Trial) error { return newDocument(w).plain(*t, "trial") }

// MergeJSON writes merged recordings as one JSON object that follows its schema. The last member has the report of each
// recording, byte for byte as [JSON] writes it. MergeJSON asks for one report after another, and fails with the first
// error that it gets.
func MergeJSON(w io.Writer, merge *model.Merge, reports iter.Seq2[*model.Report, error]) error {
	d := newDocument(w)
	d.fields(reflect.ValueOf(*merge), nil)
	d.member("reports")
	d.put([]byte("["))
	count := 0
	for r, err := range reports {
		if err != nil {
			return err
		}
		d.put([]byte(comma(count) + "\n"))
		count++
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
