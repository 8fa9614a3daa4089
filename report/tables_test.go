package report_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/text"
	"ipytracer/model"
	"ipytracer/report"
)

// TestStacksComeBack: JSON has each stack and frame once, and a reader gets every stack where it was.
func TestStacksComeBack(t *testing.T) {
	r := reporttest.WithLines()
	r.Windows[5].Refused = []model.Refusal{
		{Meter: "gpu.0.active", Asked: 9, Count: 1, Stack: r.Tensors[0].Stack},
		{Meter: "gpu.0.active", Asked: 8, Count: 1, Dividers: []model.Divider{
			{Bytes: 3, Before: 4, After: 5, Stack: r.Tensors[0].Stack},
			{Bytes: 4, After: 5, Stack: r.Windows[6].Allocations[0].Stack},
		}},
	}
	data := reporttest.Report(t, r)
	if n := strings.Count(string(data), `"Net.forward"`); n != 1 {
		t.Errorf("a frame is there %d times", n)
	}
	back, err := report.ReadJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back.Windows[6].Allocations, r.Windows[6].Allocations) || len(r.Windows[6].Allocations) == 0 {
		t.Errorf("allocations: %+v", back.Windows[6].Allocations)
	}
	if !reflect.DeepEqual(back.Windows[5].Refused, r.Windows[5].Refused) || !reflect.DeepEqual(back.Lines, r.Lines) ||
		!reflect.DeepEqual(back.Tensors, r.Tensors) ||
		!reflect.DeepEqual(back.Variables, r.Variables) || !reflect.DeepEqual(back.Names, r.Names) ||
		!reflect.DeepEqual(back.Resident, r.Resident) {
		t.Errorf("refused %+v, lines %+v, tensors %+v", back.Windows[5].Refused, back.Lines, back.Tensors)
	}
	audit, err := report.ReadAuditJSON(reporttest.Audit(t, reporttest.Audited()))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(audit.Verdicts, reporttest.Audited().Verdicts) ||
		!reflect.DeepEqual(audit.Live[0], reporttest.Audited().Live[0]) {
		t.Errorf("audit: %+v", audit)
	}
}

// TestStacksOutOfRange: a document with an index out of range is refused.
func TestStacksOutOfRange(t *testing.T) {
	for _, change := range [][2]string{
		{`"stack":1`, `"stack":77777`}, {`"stack":1`, `"stack":-1`}, {`{"frames":[1`, `{"frames":[99999`},
	} {
		data := string(reporttest.Report(t, reporttest.WithLines()))
		bad := strings.Replace(data, change[0], change[1], 1)
		if _, err := report.ReadJSON([]byte(bad)); bad == data || err == nil {
			t.Errorf("%s for %s is read", change[1], change[0])
		}
	}
}

// TestWindowsAreStreamed: a report that makes its windows one at a time prints as one that has them all.
func TestWindowsAreStreamed(t *testing.T) {
	whole := reporttest.Rich()
	streamed := *whole
	streamed.Windows = nil
	streamed.Stream = func(yield func(*model.Window) bool) {
		for i := range whole.Windows {
			if one := whole.Windows[i]; !yield(&one) {
				return
			}
		}
	}
	if outputs(t, &streamed) != outputs(t, whole) {
		t.Error("it prints differently")
	}
	var first, second bytes.Buffer
	if err := report.JSON(&first, report.WithoutSource(&streamed)); err != nil {
		t.Fatal(err)
	}
	if err := report.JSON(&second, report.WithoutSource(whole)); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Error("without its source it prints differently")
	}
}

// outputs returns a report in every form in which it can be printed.
func outputs(t *testing.T, r *model.Report) string {
	t.Helper()
	var b strings.Builder
	err := errors.Join(report.CSV(&b, r), text.Report(&b, r, text.Options{Width: -1}),
		text.Report(&b, r, text.Options{Width: -1, Full: true}))
	if err != nil {
		t.Fatal(err)
	}
	return b.String() + string(reporttest.Report(t, r))
}
