package main

import (
	"bytes"
	"strings"
	"testing"

	"ipytracer/internal/report/reporttest"
)

// TestMetersOfBy: an unknown meter is refused before anything is traced; for a meter that the session lacked the report
// is printed nevertheless.
func TestMetersOfBy(t *testing.T) {
	for _, by := range []string{"numpy", "foo", "gpu.0", "gpu.x.active", "cpu.resident ", "\x1b[2J"} {
		status, message := explain((&OutputOptions{By: by}).Check())
		if status != statusUsage || !strings.Contains(message, "cpu.numpy") ||
			!strings.Contains(message, "gpu.N.driver") || strings.ContainsAny(message, "\x1b\n") {
			t.Errorf("%q: status %d, %q", by, status, message)
		}
	}
	r := reporttest.Rich()
	for by, want := range map[string]string{
		"": "", "cpu.numpy": "",
		"gpu.7.active": "--by gpu.7.active: the session has no figures of it; cells are ranked by cpu.resident",
	} {
		o := OutputOptions{By: by, Format: "text"}
		if err := o.Check(); err != nil {
			t.Error(err)
		}
		if got := o.unranked(r); got != want && !(want != "" && strings.HasPrefix(got, want[:50])) {
			t.Errorf("%q: %q, want %q", by, got, want)
		}
		var b bytes.Buffer
		if err := o.Print(&b, r); err != nil || b.Len() == 0 {
			t.Errorf("%q: %v, %d bytes", by, err, b.Len())
		}
	}
}
