package sheet_test

import (
	"bytes"
	"strings"
	"testing"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/sheet"
	"ipytracer/model"
	"ipytracer/report"
)

func auditText(t *testing.T, a *model.Audit) string {
	t.Helper()
	var b strings.Builder
	if err := sheet.Audit(a, sheet.Options{}).Text(&b, doc.Size{Width: 120}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestAuditOutputs: an audit as text and as JSON, one that found nothing, and one without the notebook's source.
func TestAuditOutputs(t *testing.T) {
	reporttest.Golden(t, "audit.txt", []byte(auditText(t, reporttest.Audited())))
	var whole strings.Builder
	if err := sheet.Audit(reporttest.Audited(),
		sheet.Options{Full: true}).Text(&whole, doc.Size{Width: 120}); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "audit.full.txt", []byte(whole.String()))
	reporttest.Golden(t, "audit.json", reporttest.Audit(t, reporttest.Audited()))
	reporttest.Golden(t, "audit.clean.txt", []byte(auditText(t, &model.Audit{Least: 1 << 20, Complete: true})))
	reporttest.Audit(t, &model.Audit{})
	var b bytes.Buffer
	if err := report.AuditJSON(&b, report.AuditWithoutSource(reporttest.Audited())); err != nil {
		t.Fatal(err)
	}
	b.WriteString(auditText(t, report.AuditWithoutSource(reporttest.Audited())))
	for _, secret := range []string{"secret", "token"} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("%q is still there:\n%s", secret, b.String())
		}
	}
	if !strings.Contains(b.String(), "losses[…][3]") || !strings.Contains(b.String(), "curl") {
		t.Errorf("too much is gone:\n%s", b.String())
	}
}

// TestAuditAccount: only --full has the account of the memory that is still there.
func TestAuditAccount(t *testing.T) {
	for _, full := range []bool{false, true} {
		var b strings.Builder
		if err := sheet.Audit(reporttest.Audited(),
			sheet.Options{Full: full}).Text(&b, doc.Size{Width: 120}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "Still there at the end, by what holds it") != full ||
			strings.Contains(b.String(), "by who made it") != full {
			t.Errorf("full: %v:\n%s", full, b.String())
		}
	}
}

// TestAuditOfTheEnded: of a kernel that had ended before anybody looked, an audit does not say that nothing stayed
// behind, but what it had.
func TestAuditOfTheEnded(t *testing.T) {
	a := &model.Audit{Least: 1 << 20, Cells: 2, Processes: []model.AuditProcess{
		{PID: 7, Ended: true, Ending: &model.Ending{Signal: "SIGKILL", Resident: 300 << 20}}}}
	if got := auditText(t, a); !strings.Contains(got, "Nobody looked at what stayed behind, as the kernel had ended: "+
		"pid 7 had 300.00 MiB") || strings.Contains(got, "Nothing of") {
		t.Error(got)
	}
	a.Processes[0].Objects = 5 // it was looked at first
	if got := auditText(t, a); !strings.Contains(got, "Nothing of") {
		t.Error(got)
	}
}
