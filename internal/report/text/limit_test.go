package text_test

import (
	"bytes"
	"strings"
	"testing"

	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/text"
	"ipytracer/model"
)

// TestLimitInText: the header names the origin of the limit, and a refused cell the allowed amount.
func TestLimitInText(t *testing.T) {
	for by, want := range map[string]string{
		"session": "set by --limit for the session", "command": "set by `tracer limit`",
		"left": "`tracer limit 4242 off` takes it away", "other": "`ulimit -d`",
	} {
		r := reporttest.WithLines()
		r.Processes[0].PID, r.Processes[0].SoftLimit = 4242, &model.SoftLimit{Bytes: 1 << 30, By: by}
		for i := range r.Windows {
			r.Windows[i].Refused = []model.Refusal{
				{Meter: "cpu.mapped", Asked: 2 << 30, Held: 97 << 20, Limit: 1 << 30, Count: 1},
			}
		}
		reporttest.Report(t, r)
		var out bytes.Buffer
		if err := text.Report(&out, r, text.Options{Full: true, Width: 400}); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(out.String()), " ")
		for _, part := range []string{
			"limit 1.00 GiB of mapped", want, "refused 2.00 GiB of mapped, 97.00 MiB held of the 1.00 GiB allowed",
		} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is not in\n%s", by, part, out.String())
			}
		}
	}
}
