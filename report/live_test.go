package report_test

import (
	"strings"
	"testing"

	"ipytracer/model"
	"ipytracer/report"
)

// live prints the cells of a report as they would appear one after the other.
func live(t *testing.T, r *model.Report, o report.TextOptions) string {
	t.Helper()
	var b strings.Builder
	for w := range r.All() {
		if w.Kind != model.Cell {
			continue
		}
		if err := report.Live(&b, *w, o); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestLiveGolden(t *testing.T) {
	golden(t, "live.txt", []byte(live(t, rich(), report.TextOptions{})))
	golden(t, "live.80.txt", []byte(live(t, rich(), report.TextOptions{Width: 80})))
	golden(t, "live.wide.txt", []byte(live(t, rich(), report.TextOptions{Width: -1})))
	golden(t, "live.inexact.txt", []byte(live(t, inexact(), report.TextOptions{Width: 160})))
	golden(t, "live.hostile.txt", []byte(live(t, hostile(), report.TextOptions{})))
}
