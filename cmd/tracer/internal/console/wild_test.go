package console

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"ipytracer/internal/report/formats"
	"ipytracer/internal/report/reporttest"
)

// TestWildTexts: names that look like a format's own syntax stay names in each format. `make test-viewers` opens the
// same session in other programs.
func TestWildTexts(t *testing.T) {
	for _, f := range formats.All {
		if f.Name == "html" || f.Name == "pprof" || f.Name == "perfetto" || f.Name == "memory-viz" {
			continue // the packages' and the viewers' tests read them in the programs that they are made for
		}
		var b bytes.Buffer
		o := &Options{Format: f.Name, By: "cpu.resident", Lines: 3}
		if err := o.Print(&b, reporttest.Wild(), nil); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		reporttest.CheckSafe(t, b.String(), "\n\t")
		if b.Len() < 200 {
			t.Errorf("%s: %s", f.Name, b.String())
		}
		switch f.Name {
		case "csv", "allocations-csv":
			rows, err := csv.NewReader(&b).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				for _, field := range row {
					if _, err := strconv.ParseFloat(field, 64); err != nil &&
						strings.ContainsAny(field[:min(1, len(field))], "=+-@\t\r\n") {
						t.Errorf("%s: a spreadsheet takes %.60q for a formula", f.Name, field)
					}
				}
			}
		case "json":
			if !json.Valid(b.Bytes()) {
				t.Errorf("%s is no JSON", f.Name)
			}
		}
	}
}
