package text_test

import (
	"bytes"
	"strings"
	"testing"

	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/text"
	"ipytracer/model"
	"ipytracer/report"
)

// TestTorchColumns: tensors on the CPU have a column in every format once they were used, and none before.
func TestTorchColumns(t *testing.T) {
	without := printed(t, reporttest.Rich(), text.Options{Width: 200})
	if strings.Contains(without, "─ torch ─") {
		t.Error("a report without tensors has a column for them")
	}
	r := reporttest.Rich()
	zero := int64(0)
	r.Meters = append(r.Meters, model.Meter{
		ID: "cpu.torch", Unit: "bytes", Source: "uprobes", Exact: true, Bound: &zero,
	})
	for i := range r.Windows {
		r.Windows[i].Meters["cpu.torch"] = reporttest.Fig(1*reporttest.MiB, 7*reporttest.MiB, 3*reporttest.MiB)
	}
	with := printed(t, r, text.Options{Width: 200})
	if !strings.Contains(with, "─ torch ─") || !strings.Contains(with, "6.00 MiB") {
		t.Errorf("no column of tensors:\n%s", with)
	}
	reporttest.Report(t, r) // JSON follows the schema
	var csv bytes.Buffer
	if err := report.CSV(&csv, r); err != nil {
		t.Fatal(err)
	}
	if head, _, _ := strings.Cut(csv.String(), "\n"); !strings.Contains(head, "cpu.torch.peak") ||
		!strings.Contains(csv.String(), "7340032") {
		t.Errorf("CSV: %s", head)
	}
	var line bytes.Buffer
	if err := text.Live(&line, r.Windows[4], text.Options{Width: 250}); err != nil ||
		!strings.Contains(line.String(), "torch") {
		t.Errorf("the live line: %q, %v", line.String(), err)
	}
}
