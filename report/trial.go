package report

import (
	_ "embed"
	"io"
	"slices"

	"ipytracer/model"
)

//go:embed schema/trial-v1.schema.json
var trialSchemaV1 []byte

// TrialSchemaJSON returns the JSON Schema (draft 2020-12) that every output of [TrialJSON] follows. It refers to
// [SchemaJSON]'s definitions by its $id.
func TrialSchemaJSON() []byte { return slices.Clone(trialSchemaV1) }

// TrialJSON writes a trial as one JSON object that follows [TrialSchemaJSON].
func TrialJSON(w io.Writer, t *model.Trial) error { return newDocument(w).plain(*t, "trial") }

// TrialWithoutSource returns a copy of a trial without the texts of the notebook and of its outputs.
func TrialWithoutSource(t *model.Trial) *model.Trial {
	c := *t
	c.Variants, c.Unstable = list(t.Variants), bareDifferences(t.Unstable)
	for i := range c.Variants {
		v := &c.Variants[i]
		v.Diff, v.Differences, v.Cells = "", bareDifferences(v.Differences), list(v.Cells)
		for j := range v.Cells {
			v.Cells[j].Source = ""
		}
	}
	return &c
}

func bareDifferences(all []model.TrialDifference) []model.TrialDifference {
	all = list(all)
	for i := range all {
		all[i].What = ""
	}
	return all
}
