package console

import (
	"bytes"
	"strings"
	"testing"

	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// TestSizeIsForetold: the size of a large report is announced, with a way to make it smaller, such as --cells.
func TestSizeIsForetold(t *testing.T) {
	large := reporttest.Empty()
	large.Windows = append(large.Windows, reporttest.Rich().Windows[0])
	for i := range 60 {
		w := reporttest.CellWindow(10+i, i+1, strings.Repeat("x = 1 # é\n", 50_000))
		w.Meters = map[string]model.Figure{"cpu.resident": reporttest.Fig(0, int64(i), 0)}
		large.Windows = append(large.Windows, w)
	}
	said := func(r *model.Report, o Options) string {
		var told bytes.Buffer
		s := &Document{Options: &o, Console: Console{Err: &told}}
		s.AnnounceSize(r)
		return told.String()
	}
	for format, want := range map[string]string{
		"json": "about 34.", "csv": "about 31.", "perfetto": "", "html": "", "text": "",
	} {
		got := said(large, Options{Format: format})
		if want == "" && got != "" || !strings.Contains(got, want) ||
			want != "" && !strings.Contains(got, "tracer: as "+format+" this report will have") {
			t.Errorf("%s: %q", format, got)
		}
		if quiet := said(large, Options{Format: format, Quiet: true}); quiet != "" {
			t.Errorf("-q --format %s: %q", format, quiet)
		}
		if short := said(reporttest.Rich(), Options{Format: format}); short != "" {
			t.Errorf("of a short session, %s: %q", format, short)
		}
	}
	if got := said(large, Options{Format: "csv", Cells: 5, By: "cpu.resident"}); got != "" {
		t.Errorf("with --cells 5: %q", got)
	}
	if got := said(large, Options{Format: "csv", NoSource: true}); got != "" {
		t.Errorf("with --no-source: %q", got)
	}
	var csv, fewer bytes.Buffer
	for b, cells := range map[*bytes.Buffer]int{&csv: 0, &fewer: 5} {
		if err := (&Options{Format: "csv", Cells: cells, By: "cpu.resident"}).Print(b, large, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(fewer.String(), "\ncell,"); n != 5 || strings.Count(csv.String(), "\ncell,") != 60 ||
		!strings.Contains(fewer.String(), "\ncell,69,") {
		t.Errorf("--cells 5 left %d cells", n)
	}
}
