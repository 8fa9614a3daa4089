package export_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"ipytracer/internal/report/export"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// readAllocations is a typical use of the table: the memory at each window's peak by its innermost call. The other
// table, csv, has no stacks.
const readAllocations = `
import json, sys
import pandas
t = pandas.read_csv(sys.stdin)
t["call"] = t["stack_trace"].fillna("").str.split("|").str[0].str.split(";").str[0]
print(json.dumps({"session": t.groupby("allocator")["size"].sum().to_dict(),
    "calls": {" ".join(key): int(v)
              for key, v in t.groupby(["window", "allocator", "call"])["window_size"].sum().items()}}))
`

// TestPandasReadsAllocations: pandas reads allocations-csv: the sizes of a meter add up to the session's peak, and a
// cell's calls are those of its allocations.
func TestPandasReadsAllocations(t *testing.T) {
	if out, err := exec.Command("/usr/bin/python3", "-c", "import pandas").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := reporttest.Rich()
	var b bytes.Buffer
	if err := export.Allocations(&b, r); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/usr/bin/python3", "-c", readAllocations)
	var stderr strings.Builder
	cmd.Stdin, cmd.Stderr = &b, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var read struct {
		Session map[string]int64 `json:"session"`
		Calls   map[string]int64 `json:"calls"`
	}
	if err := json.Unmarshal(out, &read); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	calls := callsOf(r, "In[3]")
	if len(calls) < 3 {
		t.Fatalf("the fixture has changed: %v", calls)
	}
	for call, want := range calls {
		if got := read.Calls[call]; got != want {
			t.Errorf("%s: pandas adds up %d, the report has %d", call, got, want)
		}
	}
	compared := 0
	for _, w := range r.Windows {
		for meter, f := range w.Meters {
			if size, ok := read.Session[meter]; ok && w.Kind == model.Session {
				compared++
				if size != f.Peak {
					t.Errorf("%s: pandas adds up %d, the session's peak is %d", meter, size, f.Peak)
				}
			}
		}
	}
	if compared == 0 {
		t.Errorf("nothing was compared: %v", read.Session)
	}
}

// callsOf returns the memory at the peak of a cell by meter and innermost call, by the table's names.
func callsOf(r *model.Report, cell string) map[string]int64 {
	calls := map[string]int64{}
	for _, w := range r.Windows {
		if w.ExecutionCount == nil || cell != fmt.Sprintf("In[%d]", *w.ExecutionCount) {
			continue
		}
		for _, a := range w.Allocations {
			if len(a.Stack) > 0 {
				calls[cell+" "+a.Meter+" "+a.Stack[0].Function] += a.AtPeak
			}
		}
	}
	return calls
}
