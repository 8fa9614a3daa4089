package console

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"ipytracer/internal/report/reporttest"
)

// TestWildTexts: names that look like a format's own syntax stay names in each format. `make test-viewers` opens the
// same session in other programs.
func TestWildTexts(t *testing.T) {
	for _, f := range formats {
		if f.name == "html" || f.name == "pprof" || f.name == "perfetto" || f.name == "memory-viz" {
			continue // the packages' and the viewers' tests read them in the programs that they are made for
		}
		var b bytes.Buffer
		o := &Options{Format: f.name, By: "cpu.resident", Lines: 3}
		if err := o.Print(&b, reporttest.Wild(), nil); err != nil {
			t.Fatalf("%s: %v", f.name, err)
		}
		reporttest.CheckSafe(t, b.String(), "\n\t")
		if b.Len() < 200 {
			t.Errorf("%s: %s", f.name, b.String())
		}
		switch f.name {
		case "csv", "allocations-csv":
			rows, err := csv.NewReader(&b).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				for _, field := range row {
					if _, err := strconv.ParseFloat(field, 64); err != nil &&
						strings.ContainsAny(field[:min(1, len(field))], "=+-@\t\r\n") {
						t.Errorf("%s: a spreadsheet takes %.60q for a formula", f.name, field)
					}
				}
			}
		case "json":
			if !json.Valid(b.Bytes()) {
				t.Errorf("%s is no JSON", f.name)
			}
		}
	}
}
