package sheet_test

import (
	"strings"
	"testing"

	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/report/text"
	"ipytracer/model"
	"ipytracer/report"
)

// tried returns a trial of three changes: one that keeps the results, one that changes them, one that fails.
func tried() *model.Trial {
	const mib = 1 << 20
	seed, predicted := int64(7), int64(75*mib)
	return &model.Trial{
		Schema: model.TrialSchema, Notebook: "orders\x1b[2J.ipynb", Kernel: "kernel python3", Python: "3.11.2",
		User:  "ann",
		Host:  model.Host{Name: "h", Kernel: "6.1", Started: "2026-01-02T03:04:05.000000006Z"},
		Cells: 3, Runs: 2, Order: []int{0, 1, 2, 3, 3, 2, 1, 0}, Seed: &seed, Relative: 1e-6, Meter: "cpu.resident",
		Variants: []model.TrialVariant{
			{
				Number: 1, Name: "advice 1", Advice: []int{1}, Passed: true, Predicted: &predicted,
				Diff: "--- In[1]\n+++ In[1]\n@@ -1,1 +1,2 @@\n raw = load()\n+del raw\n",
				Saved: []model.TrialSaving{
					{
						Meter: "cpu.resident", Before: []int64{465 * mib, 466 * mib},
						After: []int64{389 * mib, 388 * mib},
						Exact: true, Certain: 76 * mib, Median: 77 * mib,
					},
					{
						Meter: "cpu.numpy", Before: []int64{381 * mib, 381 * mib}, After: []int64{305 * mib, 305 * mib},
						Certain: 76 * mib, Median: 76 * mib,
					},
				},
				TimesBefore: []int64{1e9, 2e9}, TimesAfter: []int64{5e8, 6e8},
				Cells: []model.TrialCell{
					{
						Cell: 2, Source: "y = raw * 2", PeakBefore: 465 * mib, PeakAfter: 389 * mib,
						NeedBefore: 150 * mib,
						NeedAfter:  150 * mib, TimeBefore: 1e9, TimeAfter: 5e8,
					},
				},
				Differences: []model.TrialDifference{
					{Variable: "raw", Of: "variable", What: "it is no longer there", Tolerated: true},
				},
			},
			{
				Number: 2, Name: "advice 2", Advice: []int{2}, TimesBefore: []int64{1e9}, TimesAfter: []int64{1e9},
				Saved: []model.TrialSaving{
					{
						Meter: "cpu.resident", Before: []int64{465 * mib}, After: []int64{470 * mib}, Certain: -5 * mib,
						Median: -5 * mib,
					},
				},
				Cells: []model.TrialCell{},
				Differences: []model.TrialDifference{
					{Cell: 3, Of: "output", What: "\"3\x1b[31m\" became \"4\""},
					{Cell: 1, Of: "output", Tolerated: true, What: "times"},
				},
			},
			{
				Number: 3, Name: "advice 3", Advice: []int{3}, Why: "the kernel has ended",
				Saved: []model.TrialSaving{}, TimesBefore: []int64{1e9}, TimesAfter: []int64{},
				Cells: []model.TrialCell{}, Differences: []model.TrialDifference{},
			},
		},
		Unstable: []model.TrialDifference{{Cell: 1, Of: "output", What: `"0.1" became "0.2"`}},
		Unknown:  []string{"the contents of variables of the types sklearn.Pipeline"},
	}
}

func trialText(t *testing.T, of *model.Trial, o text.Options) string {
	t.Helper()
	return onTerminal(t, sheet.Trial(of, options(o)), o)
}

func TestTrialGolden(t *testing.T) {
	reporttest.Golden(t, "trial.txt", []byte(trialText(t, tried(), text.Options{})))
	reporttest.Golden(t, "trial.json", reporttest.Trial(t, tried()))
	trialText(t, &model.Trial{}, text.Options{Full: true, Width: 60})
}

// TestTrialWithoutSource: nothing of the notebook's text or outputs is left, and the original is not changed.
func TestTrialWithoutSource(t *testing.T) {
	whole := tried()
	bare := report.TrialWithoutSource(whole)
	shown := trialText(t, bare, text.Options{Full: true}) + string(reporttest.Trial(t, bare))
	for _, secret := range []string{"raw = load", "del raw", "became", "y = raw"} {
		if strings.Contains(shown, secret) {
			t.Errorf("%q is still there", secret)
		}
		if !strings.Contains(string(reporttest.Trial(t, whole)), secret) {
			t.Errorf("%q is gone from the original", secret)
		}
	}
}
