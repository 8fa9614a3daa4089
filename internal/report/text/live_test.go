package text_test

import (
	"strings"
	"testing"

	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/text"
	"ipytracer/model"
)

// live prints the cells of a report as they would appear one after another.
func live(t *testing.T, r *model.Report, o text.Options) string {
	t.Helper()
	var b strings.Builder
	for w := range r.All() {
		if w.Kind != model.Cell {
			continue
		}
		if err := text.Live(&b, *w, o); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestLiveGolden(t *testing.T) {
	reporttest.Golden(t, "live.txt", []byte(live(t, reporttest.Rich(), text.Options{})))
	reporttest.Golden(t, "live.80.txt", []byte(live(t, reporttest.Rich(), text.Options{Width: 80})))
	reporttest.Golden(t, "live.wide.txt", []byte(live(t, reporttest.Rich(), text.Options{Width: -1})))
	reporttest.Golden(t, "live.inexact.txt", []byte(live(t, reporttest.Inexact(), text.Options{Width: 160})))
	reporttest.Golden(t, "live.hostile.txt", []byte(live(t, reporttest.Hostile(), text.Options{})))
}
