package sheet_test

import (
	"bytes"
	"strings"
	"testing"

	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/report/text"
	"ipytracer/model"
	"ipytracer/report"
)

func adviceText(t *testing.T, a *model.Advice, o text.Options) string {
	t.Helper()
	return onTerminal(t, sheet.Advice(a, options(o)), o)
}

func TestAdviceGolden(t *testing.T) {
	reporttest.Golden(t, "advice.txt", []byte(adviceText(t, reporttest.Advised(), text.Options{})))
	reporttest.Golden(t, "advice.60.txt", []byte(adviceText(t, reporttest.Advised(), text.Options{Width: 60})))
	reporttest.Golden(t, "advice.none.txt", []byte(adviceText(t, &model.Advice{}, text.Options{})))
}

// TestAdviceThatFits: a piece without a saving says which request fits, and not that it saves nothing.
func TestAdviceThatFits(t *testing.T) {
	a := reporttest.Advised()
	a.Items[0].Fits, a.Items[1].Fits, a.Items[1].Saves = 3<<30, 2<<30, 0
	shown := adviceText(t, a, text.Options{})
	for _, want := range []string{
		"1  3.00 GiB fits, 256.00 MiB lower: ", "saves       256.00 MiB", "2  2.00 GiB fits: ",
		"fits        2.00 GiB · a guess: try it",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in:\n%s", want, shown)
		}
	}
	if strings.Count(shown, "saves ") != 1 || strings.Contains(shown, " 0 B") {
		t.Errorf("it saves nothing:\n%s", shown)
	}
	var b bytes.Buffer
	if err := report.AdviceJSON(&b, a); err != nil || reporttest.CheckAdvice(b.Bytes()) != nil {
		t.Error(err, reporttest.CheckAdvice(b.Bytes()))
	}
}

// TestAdviceOfAnything has texts of a notebook that mean harm: they are shown as text, and JSON keeps to its schema.
func TestAdviceOfAnything(t *testing.T) {
	a := reporttest.Advised()
	reporttest.Poison(a)
	adviceText(t, a, text.Options{Width: 60})
	for _, one := range []*model.Advice{reporttest.Advised(), report.AdviceWithoutSource(reporttest.Advised())} {
		var b bytes.Buffer
		if err := report.AdviceJSON(&b, one); err != nil {
			t.Fatal(err)
		}
		if err := reporttest.CheckAdvice(b.Bytes()); err != nil {
			t.Error(err)
		}
	}
}

func TestAdviceWithoutSource(t *testing.T) {
	a := report.AdviceWithoutSource(reporttest.Advised())
	shown := adviceText(t, a, text.Options{})
	for _, code := range []string{"del raw", "a = raw + 1", "b = a * 2", "@@"} {
		if strings.Contains(shown, code) {
			t.Errorf("%q is in it:\n%s", code, shown)
		}
	}
}
