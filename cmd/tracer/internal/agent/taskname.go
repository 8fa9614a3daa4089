package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
)

// Names of experiments (python/src/ipytracer/_dask_marks.py).
const (
	// Prefix begins the name of each experiment of a worker.
	Prefix = "dask:"

	between = Prefix + "between tasks"
	clock   = Prefix + "clock@"
	from    = Prefix + "from@got:"
	submit  = Prefix + "submit "
)

var (
	place = regexp.MustCompile(` #\d+$`)
	cell  = regexp.MustCompile(`^(.+?) (In\[\d+\](?: of .*)?)$`)
)

// parseName returns the prefix of a task's key and the cell that submitted it, "" if that is not known. is is false for
// an experiment that is no task.
func parseName(name string) (prefix, of string, is bool) {
	text, is := strings.CutPrefix(name, Prefix)
	if !is || text == "" || name == between || strings.HasPrefix(name, clock) || strings.HasPrefix(name, from) ||
		strings.HasPrefix(name, submit) {
		return "", "", false
	}
	text = place.ReplaceAllString(text, "")
	if m := cell.FindStringSubmatch(text); m != nil {
		return m[1], m[2], true
	}
	return text, "", true
}

// parseContext reads a W3C traceparent of version 00 (https://www.w3.org/TR/trace-context/#traceparent-header).
func parseContext(text string) (c telemetry.TraceContext, ok bool) {
	const length = len("00-") + 32 + len("-") + 16 + len("-01")
	if len(text) != length || text[:3] != "00-" || text[35] != '-' || text[52] != '-' ||
		strings.ToLower(text) != text {
		return c, false
	}
	_, badTrace := hex.Decode(c.TraceID[:], []byte(text[3:35]))
	_, badSpan := hex.Decode(c.SpanID[:], []byte(text[36:52]))
	_, badFlags := hex.DecodeString(text[53:])
	if badTrace != nil || badSpan != nil || badFlags != nil || c.TraceID == (telemetry.TraceID{}) ||
		c.SpanID == (telemetry.SpanID{}) {
		return telemetry.TraceContext{}, false
	}
	return c, true
}

// lineSecret is what a notebook names its cells by: a random key that it tells its own tracer, and a number.
var lineSecret = regexp.MustCompile(`^([0-9a-f]{32})\.(\d{1,9})@sent:(.{55})$`)

// parseSubmit reads the name of the marker with which a notebook submits tasks: dask:submit KEY.N@sent:TRACEPARENT. The
// trace is a hash of the key, and the cell's id one of the key and N. Workers learn the traceparent, and not the key.
// So nobody who has seen a traceparent can give a cell of his own the same ids.
func parseSubmit(name string) (c telemetry.TraceContext, ok bool) {
	text, is := strings.CutPrefix(name, submit)
	m := lineSecret.FindStringSubmatch(text)
	if !is || m == nil {
		return c, false
	}
	if c, ok = parseContext(m[3]); !ok || c != contextOf(m[1], m[2]) {
		return telemetry.TraceContext{}, false
	}
	return c, true
}

// contextOf returns the context of a notebook's N-th cell that submits tasks, by its key.
func contextOf(key, n string) (c telemetry.TraceContext) {
	trace := sha256.Sum256([]byte("ipytracer trace " + key))
	span := sha256.Sum256(fmt.Appendf(nil, "ipytracer span %s.%s", key, n))
	copy(c.TraceID[:], trace[:])
	copy(c.SpanID[:], span[:])
	return c
}
