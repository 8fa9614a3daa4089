package report_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
	"ipytracer/report"
)

// glanceOf returns a glance at the first cell of a report, with the additional parts of a glance.
func glanceOf(r *model.Report) *model.Glance {
	g := &model.Glance{
		Host: r.Host, GPUs: r.GPUs, ElapsedNS: 5, Cells: 1, Lacks: model.Lacks{Made: 3, Delivered: 2},
		Slower: []string{"each array is traced\x1b[2J"},
	}
	k := model.Kernel{PID: 1, Command: "python", Growth: "cell", Running: true, Meters: map[string]model.Figure{}}
	for i := range r.Windows {
		if w := &r.Windows[i]; w.Kind == model.Cell && k.Cell == nil {
			k.Cell, k.Allocations, k.Coverage, k.Meters, k.Tree = w, w.Allocations, w.Coverage, w.Meters, w.Tree
			k.Cell.Allocations, k.Cell.Coverage = nil, nil
			k.Cells, k.CellsUnlisted = append(k.Cells, *w), 3
		}
	}
	for _, p := range r.Processes {
		if len(p.Limits) > 0 {
			k.Limit = &p.Limits[0]
		}
	}
	k.Variables, k.VariablesNS = r.Variables, 4
	if len(r.Names) > 0 {
		k.Names = &r.Names[0]
	}
	g.Kernels = append(g.Kernels, k, model.Kernel{
		PID: 2, Command: "python", Growth: "none", Ended: true, Meters: map[string]model.Figure{},
	})
	return g
}

// TestGlanceJSON: every fixture's glance follows the schema, lists are never null, and no part of the source is left if
// it is not wanted.
func TestGlanceJSON(t *testing.T) {
	for name, fixture := range reporttest.Reports {
		g := glanceOf(fixture())
		var b strings.Builder
		if err := report.GlanceJSON(&b, g); err != nil {
			t.Fatal(name, err)
		}
		if err := reporttest.CheckGlance([]byte(b.String())); err != nil {
			t.Errorf("%s: %v\n%.2000s", name, err, b.String())
		}
		for _, line := range strings.Split(b.String(), "\n") {
			reporttest.CheckSafe(t, line, "")
		}
		for _, k := range report.GlanceWithoutSource(g).Kernels {
			if k.Cell != nil && (k.Cell.Source != "" || k.Cells[0].Source != "") {
				t.Errorf("%s: source: %q", name, k.Cell.Source)
			}
		}
	}
}

// TestGlanceSchemaKnowsTheModel compares the schema's members with the fields of the model, both ways.
func TestGlanceSchemaKnowsTheModel(t *testing.T) {
	var schema struct {
		Properties map[string]any
		Defs       map[string]struct{ Properties map[string]any } `json:"$defs"`
	}
	if err := json.Unmarshal(report.Schemas()[model.GlanceSchema], &schema); err != nil {
		t.Fatal(err)
	}
	delete(schema.Properties, "stacks")
	delete(schema.Properties, "frames")
	for name, c := range map[string]struct {
		properties map[string]any
		model      any
	}{
		"top":    {schema.Properties, model.Glance{}},
		"kernel": {schema.Defs["kernel"].Properties, model.Kernel{}},
		"lacks":  {schema.Defs["lacks"].Properties, model.Lacks{}},
	} {
		fields := map[string]bool{}
		for field := range reflect.TypeOf(c.model).Fields() {
			tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			fields[tag] = true
			if _, ok := c.properties[tag]; !ok {
				t.Errorf("%s: the schema lacks %q", name, tag)
			}
		}
		for property := range c.properties {
			if !fields[property] {
				t.Errorf("%s: the model lacks %q", name, property)
			}
		}
	}
}
