package report

import (
	_ "embed"
	"io"
	"slices"

	"ipytracer/model"
)

//go:embed schema/advice-v1.schema.json
var adviceSchemaV1 []byte

// AdviceSchemaJSON returns the JSON Schema (draft 2020-12) that every output of [AdviceJSON] follows.
func AdviceSchemaJSON() []byte { return slices.Clone(adviceSchemaV1) }

// AdviceJSON writes advice as one JSON object that follows [AdviceSchemaJSON].
func AdviceJSON(w io.Writer, a *model.Advice) error { return newDocument(w).plain(*a, "advice") }

// AdviceWithoutSource returns a copy of advice without the texts of the notebook: it has no code to type then.
func AdviceWithoutSource(a *model.Advice) *model.Advice {
	c := *a
	c.At = barePlace(a.At)
	c.Items = list(a.Items)
	for i := range c.Items {
		item := &c.Items[i]
		item.At.Source, item.Diff, item.Edits = "", "", []model.AdviceEdit{}
		item.Then = barePlace(item.Then)
	}
	return &c
}
