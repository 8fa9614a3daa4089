package report_test

import (
	"bytes"
	"strings"
	"testing"

	"ipytracer/model"
	"ipytracer/report"
	"ipytracer/report/reporttest"
)

func audited() *model.Audit {
	three, five, before := 3, 5, int64(64<<20)
	return &model.Audit{
		Processes: []model.AuditProcess{{PID: 4242, Command: "python3 -m ipykernel_launcher -f k.json", Python: "3.11.2", IPython: "8.5.0", Late: true, Objects: 181_234}},
		Cells:     12, DurationNS: 93e9, Least: 1 << 20, NotJudged: []model.NotJudged{
			{Reason: model.ChangesLost, Why: "changes were lost: some blocks are not known, or seem to be there still", Advice: "a larger --ring loses none"},
			{Reason: model.MadeBefore, Meter: "cpu.resident", PID: 4242, Bytes: &before, Why: "it was there when the audit began", Advice: "sudo tracer run"},
		},
		Verdicts: []model.Verdict{
			{
				Kind: model.RerunGrowth, Meter: "gpu.0.active", PID: 4242, Bytes: 305 << 20, Count: 4, Executions: []int{2, 3, 4, 5}, ExecutionCounts: []int{2, 3, 4, 5},
				Stack: []model.Frame{{Function: "step", File: "/home/me/train.py", Line: 17}, {Function: "<module>", File: "/tmp/c.py", Line: 2, Execution: 5, ExecutionCount: &five}},
				AgeNS: 80e9, Holder: "losses['top \x1b[31m secret'][3]", Growth: &model.Growth{Runs: 4, Slope: 76 << 20, Low: 76 << 20, High: 76 << 20},
				Evidence: "4 runs of this cell left 76.25 MiB each; held by the variable losses['top \x1b[31m secret'][3]", Advice: "make losses anew at the top of the cell",
			},
			{
				Kind: model.ChildAlive, Meter: "cpu.resident", PID: 4242, Bytes: 2 << 20, Count: 1, Executions: []int{3}, ExecutionCounts: []int{3},
				Stack:   []model.Frame{{Function: "<module>", File: "/tmp/c.py", Line: 1, Execution: 3, ExecutionCount: &three}},
				Command: "curl --token abc", Evidence: "still running since its cell ended: curl --token abc", Advice: "end it",
			},
		},
		Live: []model.LiveBlocks{
			{PID: 4242, Meter: "gpu.0.active", By: "variable", Holder: "losses['top secret'][3]", Bytes: 305 << 20, Count: 4, Executions: []int{2, 3, 4, 5}, ExecutionCounts: []int{2, 3, 4, 5},
				Stack: []model.Frame{{Function: "step", File: "/home/me/train.py", Line: 17}, {Function: "<module>", File: "/tmp/c.py", Line: 2, Execution: 5, ExecutionCount: &five}}},
			{PID: 4242, Meter: "cpu.numpy", By: "unknown", Bytes: 100, Count: 1},
		},
		Variables: []model.Variable{
			{PID: 4242, Name: "losses", Kind: "variable", Type: "list", Bytes: 9000, Reaches: 9000, Device: 305 << 20, Exact: true, Stack: []model.Frame{}},
			{PID: 4242, Name: "x\x1b[31m", Kind: "variable", Type: "evil\x1b[0m", DType: "\x1b", Bytes: 1 << 20, Reaches: 1 << 20, Stack: []model.Frame{}},
		},
		Names: []model.Names{{PID: 4242, Objects: 90 << 20, Complete: true}},
		Held:  []model.Held{{PID: 4242, Meter: "gpu.0.active", By: "variable", Holder: "losses", Bytes: 305 << 20, Count: 4}},
	}
}

func auditText(t *testing.T, a *model.Audit) string {
	t.Helper()
	var b strings.Builder
	if err := report.AuditText(&b, a, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestAuditOutputs: an audit as text and as JSON, one that found nothing, and without what the notebook typed.
func TestAuditOutputs(t *testing.T) {
	golden(t, "audit.txt", []byte(auditText(t, audited())))
	golden(t, "audit.json", reporttest.Audit(t, audited()))
	golden(t, "audit.clean.txt", []byte(auditText(t, &model.Audit{Least: 1 << 20, Complete: true})))
	reporttest.Audit(t, &model.Audit{})
	var b bytes.Buffer
	if err := report.AuditJSON(&b, report.AuditWithoutSource(audited())); err != nil {
		t.Fatal(err)
	}
	b.WriteString(auditText(t, report.AuditWithoutSource(audited())))
	for _, secret := range []string{"secret", "token"} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("%q is still there:\n%s", secret, b.String())
		}
	}
	if !strings.Contains(b.String(), "losses[…][3]") || !strings.Contains(b.String(), "curl") {
		t.Errorf("too much is gone:\n%s", b.String())
	}
}
