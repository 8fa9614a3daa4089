package engines

import (
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/model"
)

// anyFigure returns figures that no float holds.
func anyFigure(r *rand.Rand) model.Figure {
	f := model.Figure{Start: r.Int64(), Peak: r.Int64(), End: math.MaxInt64 - r.Int64N(5), Exact: r.IntN(2) == 0}
	if bound := r.Int64(); !f.Exact && r.IntN(2) == 0 {
		f.Bound = &bound
	}
	return f
}

func wantFigures(into map[string]any, prefix string, all map[string]model.Figure) {
	for meter, f := range all {
		into[prefix+meter+".start"], into[prefix+meter+".peak"] = f.Start, f.Peak
		into[prefix+meter+".end"], into[prefix+meter+".exact"] = f.End, f.Exact
		if f.Bound != nil {
			into[prefix+meter+".bound"] = *f.Bound
		}
	}
}

// TestFigures: every figure of 30 cells arrives as it was, to the byte, by both protocols; a span has its cell's times,
// to the nanosecond.
func TestFigures(t *testing.T) {
	for _, protocol := range []string{HTTP, GRPC} {
		r := rand.New(rand.NewPCG(1, 2))
		to := newReceiver(t, protocol)
		s := newSender(t, Spans{Endpoint: to.address, Protocol: protocol})
		s.start()
		cells := map[telemetry.SpanID]*telemetry.Cell{}
		kernels := []*telemetry.Kernel{kernelOf(10), kernelOf(11), kernelOf(12)}
		for i := range 30 {
			c := cellOf(kernels[i%3], i, time.Duration(r.Int64N(1e9)))
			for _, meter := range []string{
				"cpu.mapped", telemetry.Resident, "cpu.numpy", "gpu.0.driver", "gpu.15.active",
			} {
				c.Window.Meters[meter] = anyFigure(r)
			}
			c.Window.Tree = map[string]model.Figure{telemetry.Resident: anyFigure(r)}
			c.Window.Children, c.Window.ChildrenUnlisted = make([]model.Child, i%4), i%2
			c.Window.CPUNS, c.Window.LostStatements = r.Int64(), r.Int64()
			cells[c.SpanID] = c
			s.Cell(c)
		}
		s.end(len(cells))
		for _, got := range to.all() {
			c := cells[telemetry.SpanID(got.SpanId)]
			delete(cells, c.SpanID)
			need := c.Window.Tree[telemetry.Resident]
			want := map[string]any{
				"ipytracer.execution_count": int64(*c.Window.ExecutionCount), "ipytracer.status": "ok",
				"ipytracer.need": max(0, need.Peak-need.Start), "ipytracer.cpu_ns": c.Window.CPUNS,
				"ipytracer.children":        int64(len(c.Window.Children) + c.Window.ChildrenUnlisted),
				"ipytracer.lost.statements": c.Window.LostStatements,
			}
			wantFigures(want, "ipytracer.", c.Window.Meters)
			wantFigures(want, "ipytracer.tree.", c.Window.Tree)
			if !maps.Equal(got.values, want) {
				t.Errorf("%s: %v, want %v", protocol, got.values, want)
			}
			began, ended := uint64(c.Began.UnixNano()), uint64(c.Ended.UnixNano())
			if got.StartTimeUnixNano != began || got.EndTimeUnixNano != ended {
				t.Errorf("%s: %v, want %d to %d", protocol, got.Span, began, ended)
			}
			if got.resource["process.pid"] != int64(c.Kernel.PID) || len(got.ParentSpanId) != 0 ||
				got.Status.Code != tracepb.Status_STATUS_CODE_OK {
				t.Errorf("%s: %v, %v", protocol, got.resource, got.Span)
			}
		}
		if len(cells) > 0 || s.sent() != 30 {
			t.Errorf("%s: %d cells have no span", protocol, len(cells))
		}
	}
}

// TestResource: a resource has the kernel by the names of OpenTelemetry's conventions. What a user can forge is marked.
// Without users, no name of one is there. The configuration's attributes replace others.
func TestResource(t *testing.T) {
	k := kernelOf(7)
	k.HubServer = "gpu"
	k.Claimed = telemetry.Claims{HubUser: "root", HubServer: "big", Notebook: "/home/ann/x.ipynb", KernelID: "abc"}
	users := true
	o := origin{config: &Spans{Resource: map[string]string{"service.name": "hub", "k8s.node.name": "n1"}}, host: "h",
		users: func() bool { return users }}
	want := map[string]any{
		"service.name": "hub", "host.name": "h", "k8s.node.name": "n1", "process.pid": int64(7),
		"process.creation.time": "2026-03-01T11:00:00.123Z", "process.runtime.name": "cpython",
		"process.runtime.version": "3.11.2", "ipytracer.ipython.version": "8.5.0", "ipytracer.frontend": "ipykernel",
		"container.id": k.ContainerID, "k8s.namespace.name": "jupyter", "k8s.pod.name": "jupyter-ann",
		"k8s.pod.uid": k.PodUID, "ipytracer.kernel": int64(3), "user.name": "ann",
		"ipytracer.hub.server": "gpu", "ipytracer.claimed.hub_user": "root", "ipytracer.claimed.hub_server": "big",
		"ipytracer.claimed.notebook": "/home/ann/x.ipynb", "ipytracer.claimed.kernel_id": "abc",
	}
	if got := valuesOf(o.resource(k).Attributes); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	users, k.Pod = false, k.PodUID
	for _, name := range []string{"user.name", "ipytracer.hub.server", "ipytracer.claimed.hub_user",
		"ipytracer.claimed.hub_server", "ipytracer.claimed.notebook", "k8s.pod.name"} {
		delete(want, name)
	}
	if got := valuesOf(o.resource(k).Attributes); !maps.Equal(got, want) {
		t.Errorf("without users: %v, want %v", got, want)
	}
}

// TestStatus: a cell's error is the span's, with the type of the exception; an end of the kernel within a cell is an
// event of it.
func TestStatus(t *testing.T) {
	one := 1
	limit := &model.Limit{Kind: "cgroup", Path: "/x", Bytes: 1 << 30, Used: 1<<30 - 1, Highest: 1 << 30}
	oom := &model.Ending{Signal: "SIGKILL", OutOfMemory: true, Limit: limit, Resident: 77, Mapped: 99}
	for _, c := range []struct {
		status, exception string
		ending            *model.Ending
		code              tracepb.Status_StatusCode
		message           string
	}{
		{model.OK, "", nil, tracepb.Status_STATUS_CODE_OK, ""},
		{model.Error, "MemoryError", nil, tracepb.Status_STATUS_CODE_ERROR, "MemoryError"},
		{model.Interrupted, "KeyboardInterrupt", nil, tracepb.Status_STATUS_CODE_ERROR, "KeyboardInterrupt"},
		{model.Incomplete, "", nil, tracepb.Status_STATUS_CODE_UNSET, ""},
		{"unheard of", "", nil, tracepb.Status_STATUS_CODE_UNSET, ""},
		{model.Incomplete, "", oom, tracepb.Status_STATUS_CODE_ERROR, "killed: out of memory"},
		{model.Incomplete, "", &model.Ending{Signal: "SIGSEGV"}, tracepb.Status_STATUS_CODE_ERROR, "ended by SIGSEGV"},
		{model.Incomplete, "", &model.Ending{ExitStatus: &one}, tracepb.Status_STATUS_CODE_ERROR, "exit status 1"},
	} {
		cell := cellOf(kernelOf(1), 1, 0)
		cell.Window.Status, cell.Window.Error, cell.Ending = c.status, c.exception, c.ending
		s := spanRecordOf(cell, false).span(telemetry.TraceID{1})
		if s.Status.Code != c.code || s.Status.Message != c.message || len(s.Events) != 0 != (c.ending != nil) {
			t.Errorf("%+v: %v, %v", c, s.Status, s.Events)
		}
		if got := valuesOf(s.Attributes)["error.type"]; c.exception != "" && got != c.exception {
			t.Errorf("%+v: %v", c, got)
		}
	}
	cell := cellOf(kernelOf(1), 1, 0)
	cell.Ending = oom
	got := spanRecordOf(cell, false).span(telemetry.TraceID{1}).Events[0]
	want := map[string]any{
		"ipytracer.ending.signal": "SIGKILL", "ipytracer.ending.out_of_memory": true,
		"ipytracer.ending.resident": int64(77), "ipytracer.ending.mapped": int64(99),
		"ipytracer.ending.limit.kind": "cgroup", "ipytracer.ending.limit.bytes": int64(1 << 30),
		"ipytracer.ending.limit.used": int64(1<<30 - 1), "ipytracer.ending.limit.highest": int64(1 << 30),
		"ipytracer.ending.limit.likely": false,
	}
	if has := valuesOf(got.Attributes); got.Name != "kernel end" || !maps.Equal(has, want) {
		t.Errorf("%s %v, want %v", got.Name, has, want)
	}
}

// TestDeath: an end of a kernel without a cell has a span of its own; one in a cell has none.
func TestDeath(t *testing.T) {
	to := newReceiver(t, HTTP)
	s := newSender(t, Spans{Endpoint: to.address})
	s.start()
	k, zero := kernelOf(1), 0
	s.Cell(cellOf(k, 1, 0))
	s.Death(&telemetry.Death{Kernel: k, At: epoch, Ending: &model.Ending{OutOfMemory: true, Signal: "SIGKILL"},
		Open: []*model.Window{{}}})
	s.Death(&telemetry.Death{Kernel: kernelOf(2), At: epoch, Ending: &model.Ending{ExitStatus: &zero}})
	s.Death(&telemetry.Death{Kernel: kernelOf(3), At: epoch})
	s.end(3)
	for _, got := range to.all() {
		if got.resource["process.pid"] == int64(1) {
			continue
		}
		_, exited := got.values["process.exit.code"]
		if got.Name != endName || got.StartTimeUnixNano != got.EndTimeUnixNano ||
			got.Status.Code != tracepb.Status_STATUS_CODE_UNSET || exited != (got.resource["process.pid"] == int64(2)) {
			t.Errorf("%v", got)
		}
	}
}

// TestSource: a span has its cell's text only if that is asked for, and no more of it than the bound.
func TestSource(t *testing.T) {
	long := strings.Repeat("é = 1\n", MaxSource)
	for text, want := range map[string]string{
		"x = 1\n\ty": "x = 1\n\ty", "\x1b[2J\u202e": `\x1b[2J\u202e`, "\xff": `\xff`, long: long[:4095],
	} {
		c := cellOf(kernelOf(1), 1, 0)
		c.Window.Source = text
		got := valuesOf(spanRecordOf(c, true).span(telemetry.TraceID{}).Attributes)
		if got["ipytracer.source"] != want || got["ipytracer.source_truncated"] != (text == long) {
			t.Errorf("%.20q: %.40q, %v", text, got["ipytracer.source"], got["ipytracer.source_truncated"])
		}
		if _, is := valuesOf(spanRecordOf(c, false).span(telemetry.TraceID{}).Attributes)["ipytracer.source"]; is {
			t.Error("a source without being asked for")
		}
	}
}

// nasty are names that would break a line, a label, a message or a page.
var nasty = []string{
	"a\"b", "a\nipytracer_kernels 7", "\xff\xfe", "a\\", "{x=\"y\"}", strings.Repeat("é", 5000), "\x1b[2J",
	"\u202e", "", " ", "#", "a\x00b", "日本", "</script>", "user=\"root\"", "a\r\nb", "\\n", "\\\"", "%s%n", "$(id)",
	"`id`", "a\tb", "\u2028", "\ufeff", "e\u0301", "..", "/", "' or 1=1", "NaN", "+Inf",
	"le=\"0\"", "{{.}}", "\U0001F4A9",
	"\x7f", strings.Repeat("\\", 300), "\xed\xa0\x80", strings.Repeat("a", 1<<20),
}

// TestNastyNamesInSpans: whatever a kernel calls itself, its exceptions and its notebook, its spans arrive, and so do
// those of the others in the same message. No attribute is long, and none is a name that was not written.
func TestNastyNamesInSpans(t *testing.T) {
	to := newReceiver(t, HTTP)
	s := newSender(t, Spans{Endpoint: to.address})
	s.start()
	for i, n := range nasty {
		k := kernelOf(100 + i)
		k.Owner = telemetry.Owner{Namespace: n, Pod: n, Container: n, User: n}
		k.HubServer = n
		k.Python, k.IPython, k.Frontend, k.PodUID, k.ContainerID = n, n, n, n, n
		k.Claimed = telemetry.Claims{HubUser: n, HubServer: n, Notebook: n, KernelID: n}
		c := cellOf(k, i, 0)
		c.Window.Error, c.Window.Note, c.Window.Status = n, n, n
		c.Window.Refused = []model.Refusal{{Meter: n, Asked: 5}}
		c.Ending = &model.Ending{Signal: n, Limit: &model.Limit{Kind: n, Path: n}}
		s.Cell(c)
	}
	s.end(len(nasty))
	if s.sent() != len(nasty) {
		t.Errorf("%d of %d spans arrived: %s", s.sent(), len(nasty), s.log)
	}
	for _, got := range to.all() {
		for _, all := range []map[string]any{got.resource, got.values, valuesOf(got.Events[0].Attributes),
			valuesOf(got.Events[1].Attributes)} {
			for name, value := range all {
				text, is := value.(string)
				if is && (len(text) > 3*maxNote || !utf8.ValidString(text) ||
					strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x202e })) {
					t.Errorf("%s: %.50q", name, text)
				}
			}
		}
		if got.Name != cellName || len(got.values) != 11 && len(got.values) != 9 {
			t.Errorf("%s: %d attributes: %v", got.Name, len(got.values), got.values)
		}
	}
}
