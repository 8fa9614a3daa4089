package text

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// The cost of expensive probes is on the first lines of the report, whole, at the beginning of the page, and in JSON;
// no raw text of a target reaches the terminal.
func TestDearProbes(t *testing.T) {
	r := reporttest.Rich()
	r.Certificate.Probes = append(r.Certificate.Probes,
		model.Probe{Name: "numpy", Site: "PyTraceMalloc_Track+7", Hits: 380_786, CostNS: 380_786_000,
			Dear: "_multiarray_umath\x1b[2J.so: its code is not one that is known for sure"})
	const want = "each array and each scalar is traced, which slows code down that makes many " +
		"(_multiarray_umath\\x1b[2J.so: its code is not one that is known for sure): " +
		"380,786 hits took about 381 ms of CPU time"
	said, err := Summarize(r, "")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(said.Answers, doc.Answer{Question: "slower", Text: want}) {
		t.Errorf("%q is not among %+v", want, said.Answers)
	}
	var b strings.Builder
	if err := Report(&b, r, Options{}); err != nil {
		t.Fatal(err)
	}
	whole := strings.Join(strings.Fields(b.String()), " ")
	if at := strings.Index(whole, "slower "+want); at < 0 || strings.Contains(whole[:at], "certificate") {
		t.Errorf("the report:\n%s", b.String())
	}
	raw, err := json.Marshal(r.Certificate.Probes)
	if err != nil || !strings.Contains(string(raw), `"cost_ns":380786000,"dear":"_multiarray`) {
		t.Errorf("%s, %v", raw, err)
	}
}
