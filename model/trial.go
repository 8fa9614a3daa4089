package model

// TrialSchema is the version of the JSON object of a [Trial], in its "schema" field.
const TrialSchema = "ipytracer/trial/v1"

// Trial is the result of a notebook that ran several times, as it is and with changes. Sizes are bytes, times
// nanoseconds.
type Trial struct {
	Schema   string `json:"schema"`
	Notebook string `json:"notebook"` // the name of its file
	Host     Host   `json:"host"`
	Kernel   string `json:"kernel"` // in words: what ran the cells
	Python   string `json:"python"` // its version
	User     string `json:"user"`   // as whom it ran
	Cells    int    `json:"cells"`
	// Runs is the number of runs of the notebook, and of each variant.
	Runs int `json:"runs"`
	// Order says what ran, run by run: 0 for the unchanged notebook, or the number of a variant.
	Order []int `json:"order"`
	// Seed is the seed of random numbers, null for none.
	Seed *int64 `json:"seed"`
	// Relative and Absolute are the tolerance: |b − a| ≤ absolute + relative · |a|.
	Relative float64 `json:"relative"`
	Absolute float64 `json:"absolute"`
	// Meter is the judged memory.
	Meter    string         `json:"meter"`
	Variants []TrialVariant `json:"variants"`
	// Unstable lists results that differ between runs of the unchanged notebook, because they are random or depend on
	// the time.
	Unstable []TrialDifference `json:"unstable"`
	// Unknown are sentences about what was not compared.
	Unknown []string `json:"unknown"`
}

// TrialVariant is the notebook with a change.
type TrialVariant struct {
	Number int    `json:"number"` // from 1
	Name   string `json:"name"`   // "advice 1 and 3", "patch smaller.diff"
	Advice []int  `json:"advice"`
	Diff   string `json:"diff,omitempty"` // unified, of the cells; "" without source
	// Passed: the variant ran to its end, and has the same results as the unchanged notebook, apart from results that
	// differ between runs of the unchanged notebook, too.
	Passed bool   `json:"passed"`
	Why    string `json:"why"` // why it did not run to its end
	// Saved has the judged meter first.
	Saved []TrialSaving `json:"saved"`
	// Predicted is the saving that the advice predicted; null for a change that is no advice.
	Predicted *int64 `json:"predicted"`
	// TimesBefore and TimesAfter are the sums of the cells' times, by run.
	TimesBefore []int64           `json:"times_before"`
	TimesAfter  []int64           `json:"times_after"`
	Cells       []TrialCell       `json:"cells"`
	Differences []TrialDifference `json:"differences"`
}

// TrialSaving compares the highest moments of the notebook's cells, with the kernel's children.
type TrialSaving struct {
	Meter  string  `json:"meter"`
	Before []int64 `json:"before"` // by run
	After  []int64 `json:"after"`
	Exact  bool    `json:"exact"`
	// Certain is the lowest of Before minus the highest of After. Median is the difference of the medians.
	Certain int64 `json:"certain"`
	Median  int64 `json:"median"`
}

// TrialCell has the judged meter in one cell: the lowest value of the unchanged notebook, and the highest of the
// variant. Cells that only one of them has are left out.
type TrialCell struct {
	Cell       int    `json:"cell"`             // among the cells that ran, from 1
	Source     string `json:"source,omitempty"` // the first line
	PeakBefore int64  `json:"peak_before"`
	PeakAfter  int64  `json:"peak_after"`
	NeedBefore int64  `json:"need_before"`
	NeedAfter  int64  `json:"need_after"`
	TimeBefore int64  `json:"time_before"` // the median
	TimeAfter  int64  `json:"time_after"`
}

// TrialDifference is a difference between two runs: of a cell's outputs, or of a variable at the end.
type TrialDifference struct {
	Cell     int    `json:"cell"`               // from 1; 0 for a variable
	Variable string `json:"variable,omitempty"` // at the notebook's end
	// Of is "output", "error", "variable".
	Of   string `json:"of"`
	What string `json:"what,omitempty"` // in words, the first difference; "" without source
	// Tolerated: the difference does not keep a variant from passing.
	Tolerated bool `json:"tolerated"`
}

// Best returns the variant that passed and that certainly saves the most; nil if no variant certainly saves anything.
func (t *Trial) Best() *TrialVariant {
	var best *TrialVariant
	for i := range t.Variants {
		v := &t.Variants[i]
		if !v.Passed || len(v.Saved) == 0 || v.Saved[0].Certain <= 0 {
			continue
		}
		if best == nil || v.Saved[0].Certain > best.Saved[0].Certain {
			best = v
		}
	}
	return best
}
