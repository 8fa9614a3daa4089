package reporttest

import (
	"reflect"
	"strings"

	"ipytracer/model"
)

// WildTexts are names that formats could take for syntax of their own: separators, quotes, ends of lines and files,
// numbers, formulas, markup, formats of printing, invalid UTF-8, nothing, and a megabyte.
var WildTexts = []string{
	"a\nb;c|d\r\n99 1", `"quoted" 'single' \ \" \\" ,`, "\x00\x01\x1a\x04", "surrogate \xed\xb2\x80\xed\xa0\x80",
	"</script><script>window.pwned=1</script>", "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1",
	"%s%n%x{}{{0}}$HOME`id`$(id)", "../../../etc/passwd", "", " ", ";", "x 12345", "-- drop table slice; '",
	"[a](javascript:window.pwned=1) | b | `c` <details>", "{\"$schema\": [1, null", "NaN",
	"&amp;\u202e\ufeff\ufffd\U0010ffff", "file:///etc/passwd#:1", strings.Repeat("1 MB ;", 1<<18),
}

// Wild returns a session with all parts of the fixtures, in which every foreign text is one of [WildTexts].
func Wild() *model.Report {
	r := OnGPUs(WithLines())
	for i := range r.Windows[0].Allocations { // of a GPU it has more than the peak
		r.Windows[0].Allocations[i].AtPeak = min(r.Windows[0].Allocations[i].AtPeak,
			r.Windows[0].Meters[r.Windows[0].Allocations[i].Meter].Peak)
	}
	n := 0
	poison(reflect.ValueOf(r), "", WildTexts, &n)
	cell := true
	for i := range r.Windows { // one long source, the others with short ones
		w := &r.Windows[i]
		if len(w.Source) > 1<<20 && !cell {
			w.Source = "x = 1"
		} else if len(w.Source) > 1<<20 {
			cell = false
		}
	}
	return r
}
