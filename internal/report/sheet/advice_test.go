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
