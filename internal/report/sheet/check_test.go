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

// TestCheck: each row has the predicted bytes, those that came back and the whole code; remaining objects are
// mentioned.
func TestCheck(t *testing.T) {
	const mebi = 1 << 20
	long := "del " + strings.Repeat("name, ", 60) + "last"
	k := &model.Check{
		Processes: []model.CheckProcess{{PID: 7}, {PID: 8, Ended: true}, {PID: 9, Why: "it is no Python\x1b[2J"}},
		Checked: []model.Checked{
			{PID: 7, Type: "del x", Predicted: 480 * mebi, CameBack: 480 * mebi, Exact: true},
			{PID: 7, Type: "%xdel _2", Predicted: 90 * mebi, CameBack: 45 * mebi},
			{PID: 7, Type: "del t", Predicted: 4, Device: 60 * mebi, Exact: true},
			{PID: 7, Type: long, Predicted: mebi, Exact: true},
			{PID: 7, Type: "del a\x1b[31m", Predicted: mebi, CameBack: mebi, Exact: true},
		},
	}
	var out, data bytes.Buffer
	if err := sheet.Check(k).Text(&out, doc.Size{Width: 80}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"  480.00 MiB    480.00 MiB  del x\n", " ≥ 90.00 MiB     45.00 MiB  %xdel _2   is there still in part\n",
		"60.00 MiB GPU           0 B  del t   is there still\n", "pid 8 has ended: its memory has come back\n",
		"pid 9 could not be looked at: it is no Python", "What did not come back is there still",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if whole := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(whole, long+" is there still") {
		t.Errorf("code is cut:\n%s", out.String())
	}
	reporttest.CheckSafe(t, out.String(), "\n")
	if err := report.CheckJSON(&data, k); err != nil {
		t.Fatal(err)
	}
	if err := reporttest.CheckCheck(data.Bytes()); err != nil {
		t.Error(err)
	}
	out.Reset()
	if err := sheet.Check(&model.Check{Processes: k.Processes[:1]}).Text(&out, doc.Size{Width: 120}); err != nil ||
		!strings.Contains(out.String(), "No name of the notebook holds 1 MiB") {
		t.Errorf("%v: %s", err, out.String())
	}
}
