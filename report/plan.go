package report

import (
	_ "embed"
	"io"
	"slices"

	"ipytracer/model"
)

//go:embed schema/plan-v1.schema.json
var planSchemaV1 []byte

// PlanSchemaJSON returns the JSON Schema (draft 2020-12) that every output of [PlanJSON] follows. It refers to
// [SchemaJSON]'s definitions by its $id.
func PlanSchemaJSON() []byte { return slices.Clone(planSchemaV1) }

// PlanJSON writes a plan as one JSON object that follows [PlanSchemaJSON].
func PlanJSON(w io.Writer, p *model.Plan) error { return newDocument(w).plain(*p, "plan") }

// PlanWithoutSource returns a copy of a plan without the texts of the notebook.
func PlanWithoutSource(p *model.Plan) *model.Plan {
	c := *p
	c.Demands = list(p.Demands)
	for i := range c.Demands {
		d := &c.Demands[i]
		d.At, d.Next = barePlace(d.At), barePlace(d.Next)
		d.Lines, d.Untouched = bareLines(d.Lines), bareLines(d.Untouched)
		if d.Together != nil {
			set := *d.Together
			set.Lines, set.Then = bareLines(set.Lines), barePlace(set.Then)
			d.Together = &set
		}
	}
	return &c
}

func bareLines(lines []model.PlanLine) []model.PlanLine {
	lines = list(lines)
	for i := range lines {
		lines[i].Source, lines[i].Then = "", barePlace(lines[i].Then)
	}
	return lines
}

func barePlace(p *model.PlanPlace) *model.PlanPlace {
	if p == nil {
		return nil
	}
	c := *p
	c.Source = ""
	return &c
}
