package console

import (
	"bytes"
	"strings"
	"testing"

	"ipytracer/internal/report/reporttest"
)

// TestMetersOfBy: an unknown meter is refused before anything is traced. If the session has no figures of a known
// meter, the report is printed, with a note.
func TestMetersOfBy(t *testing.T) {
	for _, by := range []string{"numpy", "foo", "gpu.0", "gpu.x.active", "cpu.resident ", "\x1b[2J"} {
		code, message := Explain((&Options{By: by}).Check())
		if code != WrongUsage || !strings.Contains(message, "cpu.numpy") ||
			!strings.Contains(message, "gpu.N.driver") || strings.ContainsAny(message, "\x1b\n") {
			t.Errorf("%q: status %d, %q", by, code, message)
		}
	}
	r := reporttest.Rich()
	for by, want := range map[string]string{
		"": "", "cpu.numpy": "",
		"gpu.7.active": "--by gpu.7.active: the session has no figures of it; cells are ranked by cpu.resident",
	} {
		o := Options{By: by, Format: "text"}
		if err := o.Check(); err != nil {
			t.Error(err)
		}
		if got := o.missingMeterNote(r); got != want && !(want != "" && strings.HasPrefix(got, want[:50])) {
			t.Errorf("%q: %q, want %q", by, got, want)
		}
		var b bytes.Buffer
		if err := o.Print(&b, r, nil); err != nil || b.Len() == 0 {
			t.Errorf("%q: %v, %d bytes", by, err, b.Len())
		}
	}
}
