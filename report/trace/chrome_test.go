package trace_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ipytracer/model"
	"ipytracer/report/reporttest"
	"ipytracer/report/trace"
)

// chromeEvent has the fields of an event that Chrome's trace viewer reads.
type chromeEvent struct {
	Phase    string                 `json:"ph"`
	PID      *int                   `json:"pid"`
	Thread   *int                   `json:"tid"`
	Name     string                 `json:"name"`
	Category string                 `json:"cat"`
	ID       struct{ Local string } `json:"id2"`
	At       json.Number            `json:"ts"`
	Length   json.Number            `json:"dur"`
	Args     json.RawMessage        `json:"args"`
}

func TestChrome(t *testing.T) {
	for name, make := range reporttest.Reports {
		t.Run(name, func(t *testing.T) {
			r := make()
			var got struct {
				Events []chromeEvent `json:"traceEvents"`
				Unit   string        `json:"displayTimeUnit"`
			}
			data := printed(t, trace.Chrome, r)
			decoder := json.NewDecoder(bytes.NewReader(data))
			if err := decoder.Decode(&got); err != nil {
				t.Fatal(err)
			}
			slices, open := 0, map[string]int{}
			for _, e := range got.Events {
				if e.PID == nil || e.Name == "" {
					t.Fatalf("%+v", e)
				}
				whole := strings.Count(e.At.String(), ".") == 1 &&
					len(e.At.String())-strings.Index(e.At.String(), ".") == 4
				switch e.Phase {
				case "M":
				case "X":
					if slices++; e.Thread == nil || !whole || e.Length == "" {
						t.Errorf("%+v", e)
					}
				case "C":
					if !whole || e.Thread != nil {
						t.Errorf("%+v", e)
					}
				case "b":
					open[fmt.Sprint(*e.PID)+e.Category+e.ID.Local]++
				case "e":
					open[fmt.Sprint(*e.PID)+e.Category+e.ID.Local]--
				default:
					t.Errorf("phase %q", e.Phase)
				}
				reporttest.CheckSafe(t, e.Name, "")
			}
			want := 0
			for i := range r.Windows {
				if k := r.Windows[i].Kind; k == model.Cell || k == model.Statement {
					want++
				}
			}
			if slices != want {
				t.Errorf("%d slices, not %d", slices, want)
			}
			for id, n := range open {
				if n != 0 {
					t.Errorf("%s has %d beginnings too many", id, n)
				}
			}
		})
	}
}
