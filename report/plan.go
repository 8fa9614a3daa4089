package report

import (
	_ "embed"
	"io"
	"slices"

	"ipytracer/model"
)

//go:embed schema/plan-v1.schema.json
var planSchemaV1 []byte

// PlanSchemaJSON returns the JSON Schema (draft 2020-12) that every output of [PlanJSON] follows. It refers to [SchemaJSON]'s definitions by
// its $id.
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
		d.Lines, d.Untouched = list(d.Lines), list(d.Untouched)
		for k := range d.Lines {
			d.Lines[k].Source = ""
		}
		for k := range d.Untouched {
			d.Untouched[k].Source = ""
		}
	}
	return &c
}

func barePlace(p *model.PlanPlace) *model.PlanPlace {
	if p == nil {
		return nil
	}
	c := *p
	c.Source = ""
	return &c
}
