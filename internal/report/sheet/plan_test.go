package sheet_test

import (
	"errors"
	"strings"
	"testing"

	"ipytracer/internal/plan"
	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/report/text"
	"ipytracer/model"
	"ipytracer/report"
)

func planned(reports ...*model.Report) *model.Plan {
	var runs []*plan.Run
	for _, r := range reports {
		runs = append(runs, plan.Read("/tmp/run.arrows", r))
	}
	return plan.Make(runs)
}

func planText(t *testing.T, p *model.Plan, o text.Options) string {
	t.Helper()
	return onTerminal(t, sheet.Plan(p, options(o)), o)
}

func TestPlanGolden(t *testing.T) {
	one, many := planned(reporttest.Rich()), planned(reporttest.Rich(), changed(), reporttest.Many())
	reporttest.Golden(t, "plan.txt", []byte(planText(t, one, text.Options{})))
	reporttest.Golden(t, "plan.json", reporttest.Plan(t, one))
	reporttest.Golden(t, "plan.many.80.txt", []byte(planText(t, many, text.Options{Width: 80})))
	reporttest.Plan(t, many)
	saving := planned(reporttest.Savings())
	reporttest.Golden(t, "plan.saving.txt", []byte(planText(t, saving, text.Options{})))
	reporttest.Golden(t, "plan.saving.json", reporttest.Plan(t, saving))
}

// TestPlanOfAnything: for any session there is a plan that can be shown, and text to paste is never wrapped.
func TestPlanOfAnything(t *testing.T) {
	for name, r := range reporttest.Reports {
		p := planned(r(), reporttest.Rich())
		shown := planText(t, p, text.Options{Full: true, Width: 60})
		for _, s := range p.Settings {
			if !strings.Contains(shown, s.Text) {
				t.Errorf("%s: %q is not in one piece", name, s.Text)
			}
		}
		reporttest.CheckSafe(t, string(reporttest.Plan(t, p)), "\n")
	}
}

func TestPlanWithoutSource(t *testing.T) {
	p, saving := report.PlanWithoutSource(planned(reporttest.WithLines())),
		report.PlanWithoutSource(planned(reporttest.Savings()))
	if saving.Demands[0].Together == nil {
		t.Error("nothing is saved")
	}
	full := text.Options{Full: true}
	shown := planText(t, p, full) + string(reporttest.Plan(t, p)) +
		planText(t, saving, full) + string(reporttest.Plan(t, saving))
	for _, secret := range []string{"np.ones", "timeit", "%%time", "orders.csv", "group(", "big"} {
		if strings.Contains(shown, secret) {
			t.Errorf("%q is there", secret)
		}
	}
}

// TestPlanTried: text, JSON, Markdown and HTML have the need with a change that was tried.
func TestPlanTried(t *testing.T) {
	p := planned(reporttest.Rich())
	of := tried()
	of.Variants[0].Name = "advice 1 and 3"
	peak := p.Demands[0].Need
	of.Variants[0].Saved[0].Before, of.Variants[0].Saved[0].Certain = []int64{peak}, peak/2
	plan.AddTried(p, of)
	if len(p.Tried) != 1 {
		t.Fatalf("%+v, %q", p.Tried, p.Doubts)
	}
	var markdown, html strings.Builder
	if err := errors.Join(sheet.Plan(p, sheet.Options{}).Markdown(&markdown),
		sheet.Plan(p, sheet.Options{}).HTML(&html)); err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{
		planText(t, p, text.Options{}), string(reporttest.Plan(t, p)), markdown.String(), html.String(),
	} {
		if !strings.Contains(shown, "advice 1 and 3") {
			t.Errorf("not in\n%s", shown)
		}
	}
}
