package trial

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Tolerance is how far numbers may differ: |b − a| ≤ Abs + Rel·|a|.
type Tolerance struct{ Rel, Abs float64 }

func (t Tolerance) near(a, b float64) bool {
	if a == b || math.IsNaN(a) && math.IsNaN(b) {
		return true
	}
	return !math.IsInf(a, 0) && math.Abs(b-a) <= t.Abs+t.Rel*math.Abs(a)
}

// passing are the parts of a text that change from run to run and mean nothing: addresses, random names, times.
var passing = []struct {
	match *regexp.Regexp
	to    string
}{
	{regexp.MustCompile(`0x[0-9a-fA-F]{6,16}`), "0x…"},
	{regexp.MustCompile(`[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}`), "UUID"},
	{regexp.MustCompile(`\bT_[0-9a-f]{5}\b`), "T_…"},                       // pandas' Styler
	{regexp.MustCompile(`\b[mp][0-9a-f]{10}\b`), "ID"},                     // marks and paths of Matplotlib's SVG
	{regexp.MustCompile(`/tmp/ipykernel_\d+/\d+\.py`), "/tmp/ipykernel/…"}, // a cell in a warning
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?`), "DATE"},
	{regexp.MustCompile(`\b\d{1,2}:\d\d(?::\d\d)?(?:\.\d+)?\b`), "TIME"},
	// of %timeit: the counts and the warning depend on times
	{regexp.MustCompile(`\b\d+ runs?, [\d,]+ loops? each\b`), "LOOPS"},
	{regexp.MustCompile(`\b[\d,]+ loops?, best of \d+\b`), "LOOPS"},
	{regexp.MustCompile(`The slowest run took [\d.]+ times longer than the fastest\.[^\n]*\n?`), ""},
	{regexp.MustCompile(`\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|sec|secs|seconds|min|it/s|s/it|ms/step)(?:\b|$)`), "TIME"},
}

// settled returns a text without its passing parts.
func settled(text string) string {
	for _, p := range passing {
		text = p.match.ReplaceAllString(text, p.to)
	}
	return text
}

var number = regexp.MustCompile(`-?\b\d+(?:\.\d*)?(?:[eE][-+]?\d+)?`)

// verdict is the result of a comparison.
type verdict struct {
	what    string // in words; "" if both are the same, byte for byte
	differs bool   // and not only within what is tolerated
}

func differ(format string, args ...any) verdict { return verdict{fmt.Sprintf(format, args...), true} }

func tolerate(format string, args ...any) verdict {
	return verdict{fmt.Sprintf(format, args...), false}
}

func compareTexts(a, b string, within Tolerance) verdict {
	if a == b {
		return verdict{}
	}
	a, b = settled(a), settled(b)
	if a == b {
		return tolerate("only addresses, times or random names differ")
	}
	if number.ReplaceAllString(a, "#") == number.ReplaceAllString(b, "#") {
		if of, to := number.FindAllString(a, -1), number.FindAllString(b, -1); nearAll(of, to, within) {
			return tolerate("printed numbers differ within the tolerance")
		}
	}
	old, new := firstDifference(a, b)
	return differ("%q became %q", old, new)
}

func nearAll(a, b []string, within Tolerance) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && !strings.ContainsAny(a[i]+b[i], ".eE") {
			return false // counts
		}
		x, err := strconv.ParseFloat(a[i], 64)
		y, other := strconv.ParseFloat(b[i], 64)
		if err != nil || other != nil || !within.near(x, y) {
			return false
		}
	}
	return true
}

// firstDifference returns the first lines that differ, shortened.
func firstDifference(a, b string) (old, new string) {
	of, to := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(of), len(to)) {
		old, new = "", ""
		if i < len(of) {
			old = of[i]
		}
		if i < len(to) {
			new = to[i]
		}
		if old != new {
			break
		}
	}
	at := 0
	for at < min(len(old), len(new)) && old[at] == new[at] {
		at++
	}
	return excerpt(old, at), excerpt(new, at)
}

// excerpt returns the part of a line around a place.
func excerpt(line string, at int) string {
	const before, most = 20, 60
	from := max(0, at-before)
	to := min(len(line), from+most)
	short := strings.ToValidUTF8(line[from:to], "")
	if from > 0 {
		short = "…" + short
	}
	if to < len(line) {
		short += "…"
	}
	return short
}
