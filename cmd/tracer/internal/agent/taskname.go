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

	betweenTasks = Prefix + "between tasks"
	clockMarker  = Prefix + "clock@"
	fromMarker   = Prefix + "from@got:"
	submitPrefix = Prefix + "submit "
)

var (
	numberSuffix = regexp.MustCompile(` #\d+$`)
	taskOfCell   = regexp.MustCompile(`^(.+?) (In\[\d+\](?: of .*)?)$`)
)

// parseName reads the name of an experiment. If that is a task, it returns the prefix of the task's key and the cell
// that submitted the task, "" if that is unknown. ok is false for other experiments.
func parseName(name string) (prefix, submittedBy string, ok bool) {
	text, ok := strings.CutPrefix(name, Prefix)
	isMarker := name == betweenTasks || strings.HasPrefix(name, clockMarker) || strings.HasPrefix(name, fromMarker) ||
		strings.HasPrefix(name, submitPrefix)
	if !ok || text == "" || isMarker {
		return "", "", false
	}
	text = numberSuffix.ReplaceAllString(text, "")
	if m := taskOfCell.FindStringSubmatch(text); m != nil {
		return m[1], m[2], true
	}
	return text, "", true
}

// traceparent matches the trace ID, the span ID and the flags of a traceparent.
var traceparent = regexp.MustCompile(`^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$`)

// parseContext reads a W3C traceparent of version 00 (https://www.w3.org/TR/trace-context/#traceparent-header).
func parseContext(text string) (c telemetry.TraceContext, ok bool) {
	m := traceparent.FindStringSubmatch(text)
	if m == nil {
		return c, false
	}
	_, _ = hex.Decode(c.TraceID[:], []byte(m[1])) // hexadecimal digits of the right number
	_, _ = hex.Decode(c.SpanID[:], []byte(m[2]))
	if c.TraceID == (telemetry.TraceID{}) || c.SpanID == (telemetry.SpanID{}) {
		return telemetry.TraceContext{}, false
	}
	return c, true
}

// submitMarker matches KEY.N@sent:TRACEPARENT: KEY is random, and a notebook tells it only its own tracer; N numbers
// its cells that submit tasks.
var submitMarker = regexp.MustCompile(`^([0-9a-f]{32})\.(\d{1,9})@sent:(.{55})$`)

// parseSubmit reads the name of the marker with which a notebook submits tasks: dask:submit KEY.N@sent:TRACEPARENT. It
// accepts only the traceparent of [contextOf], which is a hash of KEY and N. Workers learn the traceparent, but not
// KEY: nobody who has seen a traceparent can give the same IDs to a cell of another notebook.
func parseSubmit(name string) (c telemetry.TraceContext, ok bool) {
	text, ok := strings.CutPrefix(name, submitPrefix)
	m := submitMarker.FindStringSubmatch(text)
	if !ok || m == nil {
		return c, false
	}
	if c, ok = parseContext(m[3]); !ok || c != contextOf(m[1], m[2]) {
		return telemetry.TraceContext{}, false
	}
	return c, true
}

// contextOf returns the context of the n-th cell that submits tasks, of the notebook with this key.
func contextOf(key, n string) (c telemetry.TraceContext) {
	trace := sha256.Sum256([]byte("ipytracer trace " + key))
	span := sha256.Sum256(fmt.Appendf(nil, "ipytracer span %s.%s", key, n))
	copy(c.TraceID[:], trace[:])
	copy(c.SpanID[:], span[:])
	return c
}
