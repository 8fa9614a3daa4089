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

// volatileParts match what differs from run to run without a change of the result: addresses, random names, times.
var volatileParts = []struct {
	match       *regexp.Regexp
	placeholder string
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

// maskVolatile returns a text with a placeholder for each of its volatile parts.
func maskVolatile(text string) string {
	for _, p := range volatileParts {
		text = p.match.ReplaceAllString(text, p.placeholder)
	}
	return text
}

var number = regexp.MustCompile(`-?\b\d+(?:\.\d*)?(?:[eE][-+]?\d+)?`)

// verdict is the result of a comparison.
type verdict struct {
	what    string // the difference in words; "" if both are the same, byte for byte
	differs bool   // the difference counts against the change: it is not tolerated
}

func differ(format string, args ...any) verdict { return verdict{fmt.Sprintf(format, args...), true} }

func tolerate(format string, args ...any) verdict {
	return verdict{fmt.Sprintf(format, args...), false}
}

func compareTexts(a, b string, within Tolerance) verdict {
	if a == b {
		return verdict{}
	}
	a, b = maskVolatile(a), maskVolatile(b)
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

// nearAll reports whether all printed numbers are near each other. Whole numbers must be equal: they are counts.
func nearAll(a, b []string, within Tolerance) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && !strings.ContainsAny(a[i]+b[i], ".eE") {
			return false
		}
		x, errX := strconv.ParseFloat(a[i], 64)
		y, errY := strconv.ParseFloat(b[i], 64)
		if errX != nil || errY != nil || !within.near(x, y) {
			return false
		}
	}
	return true
}

// firstDifference returns an excerpt of the first line that differs, of both texts. A missing line is "".
func firstDifference(a, b string) (old, new string) {
	linesA, linesB := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(linesA), len(linesB)) {
		old, new = "", ""
		if i < len(linesA) {
			old = linesA[i]
		}
		if i < len(linesB) {
			new = linesB[i]
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

// excerpt returns the part of a line around the byte at index at.
func excerpt(line string, at int) string {
	const bytesBefore, maxBytes = 20, 60
	from := max(0, at-bytesBefore)
	to := min(len(line), from+maxBytes)
	short := strings.ToValidUTF8(line[from:to], "")
	if from > 0 {
		short = "…" + short
	}
	if to < len(line) {
		short += "…"
	}
	return short
}
