package engines

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/model"
)

func taskOf(k *telemetry.Kernel, parent telemetry.TraceContext) *telemetry.Task {
	return &telemetry.Task{
		Kernel: k, Began: epoch, Ended: epoch.Add(time.Second), Prefix: "chunk_sum", Cell: "In[3]", Parent: parent,
		Window: &model.Window{
			Kind: model.Experiment, PID: 4711, Status: model.OK, CPUNS: 5,
			Meters: map[string]model.Figure{telemetry.Resident: {Start: 1, Peak: 9, End: 4, Exact: true}},
		},
	}
}

// TestTaskSpan: a task is a child of the span of its cell, on whichever machine that is, and has its figures.
func TestTaskSpan(t *testing.T) {
	parent := telemetry.TraceContext{TraceID: telemetry.TraceID{7}, SpanID: telemetry.SpanID{8}}
	all := newTraces()
	r := recordOfTask(taskOf(kernelOf(1), parent))
	s := r.span(all.idOf(r))
	got := valuesOf(s.Attributes)
	if s.Name != "dask task" || !bytes.Equal(s.TraceId, parent.TraceID[:]) ||
		!bytes.Equal(s.ParentSpanId, parent.SpanID[:]) || bytes.Equal(s.SpanId, parent.SpanID[:]) ||
		s.Flags&uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK) == 0 ||
		s.Status.Code != tracepb.Status_STATUS_CODE_UNSET {
		t.Errorf("%v", s)
	}
	for name, want := range map[string]any{
		"ipytracer.task.prefix": "chunk_sum", "ipytracer.task.cell": "In[3]", "ipytracer.task.pid": int64(4711),
		"ipytracer.need": int64(8), "ipytracer.status": "ok", "ipytracer.cpu.resident.peak": int64(9),
		"ipytracer.cpu.resident.exact": true,
	} {
		if got[name] != want {
			t.Errorf("%s: %v", name, got[name])
		}
	}
	if len(all.known) != 0 {
		t.Error("a worker's trace is another's")
	}
}

// TestTaskWithoutParent: tasks that are known of no cell are in the trace of their worker, which no task ends.
func TestTaskWithoutParent(t *testing.T) {
	all := newTraces()
	k := kernelOf(1)
	r := recordOfTask(taskOf(k, telemetry.TraceContext{}))
	first := all.idOf(r)
	s := r.span(first)
	again := all.idOf(recordOfTask(taskOf(k, telemetry.TraceContext{})))
	if again != first || len(s.ParentSpanId) != 0 || first == (telemetry.TraceID{}) ||
		s.Flags&uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK) != 0 {
		t.Errorf("%x, %x: %v", first, again, s)
	}
}

// TestChosenTrace: a cell that has given its tasks a trace is in it, and so are the kernel's cells after it.
func TestChosenTrace(t *testing.T) {
	all, k := newTraces(), kernelOf(1)
	before := all.idOf(spanRecordOf(cellOf(k, 1, 0), false))
	chosen := cellOf(k, 2, time.Minute)
	chosen.TraceID = telemetry.TraceID{9}
	for _, want := range []telemetry.TraceID{{9}, {9}} {
		if got := all.idOf(spanRecordOf(chosen, false)); got != want || before == want {
			t.Errorf("%x, want %x", got, want)
		}
	}
	if got := all.idOf(spanRecordOf(cellOf(k, 3, 2*time.Minute), false)); got != (telemetry.TraceID{9}) {
		t.Errorf("the next cell is in %x", got)
	}
	if got := all.idOf(spanRecordOf(cellOf(kernelOf(2), 1, 0), false)); got == (telemetry.TraceID{9}) || got == before {
		t.Errorf("another kernel's cell is in %x", got)
	}
}

// TestHostileTask: names of a worker's making are bounded texts.
func TestHostileTask(t *testing.T) {
	task := taskOf(kernelOf(1), telemetry.TraceContext{})
	task.Prefix, task.Cell = strings.Repeat("\x1b[31m\xff", 1<<16), strings.Repeat("é", 1<<16)
	got := valuesOf(recordOfTask(task).span(telemetry.TraceID{1}).Attributes)
	for _, name := range []string{"ipytracer.task.prefix", "ipytracer.task.cell"} {
		text, _ := got[name].(string)
		if len(text) > 4*telemetry.MaxLabel || text == "" || !utf8.ValidString(text) || strings.Contains(text, "\x1b") {
			t.Errorf("%s: %d bytes", name, len(text))
		}
	}
}
