package engines

import (
	"maps"
	"slices"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/internal/report/escape"
	"ipytracer/model"
)

// attributes are the attributes of a span, an event or a resource. All texts must be valid UTF-8: protobuf refuses a
// whole message with any other.
type attributes []*commonpb.KeyValue

func (a *attributes) add(key string, v *commonpb.AnyValue) {
	*a = append(*a, &commonpb.KeyValue{Key: key, Value: v})
}

func (a *attributes) int(key string, n int64) {
	a.add(key, &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: n}})
}

func (a *attributes) bool(key string, v bool) {
	a.add(key, &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: v}})
}

// text adds a text that a kernel or a user may have chosen. It leaves out an empty text.
func (a *attributes) text(key, value string) { a.raw(key, text(value)) }

// raw adds a text that is safe as it is. It leaves out an empty text.
func (a *attributes) raw(key, value string) {
	if value != "" {
		a.add(key, &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}})
	}
}

// text bounds and escapes a text from a kernel for the value of an attribute.
func text(s string) string {
	return strings.ToValidUTF8(escape.Bounded(s, telemetry.MaxLabel), "?")
}

// MaxSource is the most bytes of a cell's source in a span.
const MaxSource = 4 << 10

// source bounds and escapes a cell's source for the value of an attribute, with its lines and tabs. whole is false if a
// part is missing.
func source(s string) (shown string, whole bool) {
	if whole = len(s) <= MaxSource; !whole {
		s = escape.Prefix(s, MaxSource)
	}
	if shown = strings.ToValidUTF8(escape.But(s, "\n\t"), "?"); len(shown) > MaxSource {
		shown, whole = escape.Prefix(shown, MaxSource), false
	}
	return shown, whole
}

// figures adds the figures of meters, in bytes, under names that begin with a prefix.
func (a *attributes) figures(prefix string, meters map[string]model.Figure) {
	for _, meter := range slices.Sorted(maps.Keys(meters)) {
		f := meters[meter]
		name := prefix + meter
		a.int(name+".start", f.Start)
		a.int(name+".peak", f.Peak)
		a.int(name+".end", f.End)
		a.bool(name+".exact", f.Exact)
		if !f.Exact && f.Bound != nil {
			a.int(name+".bound", *f.Bound)
		}
	}
}

// ending adds the attributes of a kernel's end.
func (a *attributes) ending(e *model.Ending) {
	if e.ExitStatus != nil {
		a.int("process.exit.code", int64(*e.ExitStatus))
	}
	a.text("ipytracer.ending.signal", e.Signal)
	a.bool("ipytracer.ending.out_of_memory", e.OutOfMemory)
	a.int("ipytracer.ending.resident", e.Resident)
	a.int("ipytracer.ending.mapped", e.Mapped)
	if l := e.Limit; l != nil {
		a.text("ipytracer.ending.limit.kind", l.Kind)
		a.int("ipytracer.ending.limit.bytes", l.Bytes)
		a.int("ipytracer.ending.limit.used", l.Used)
		if l.Highest != 0 {
			a.int("ipytracer.ending.limit.highest", l.Highest)
		}
		a.bool("ipytracer.ending.limit.likely", e.Likely)
	}
}

// kernel adds the attributes of a kernel, with names of users only if users is true.
func (a *attributes) kernel(k *telemetry.Kernel, users bool) {
	a.int("process.pid", int64(k.PID))
	if !k.Began.IsZero() {
		a.raw("process.creation.time", k.Began.UTC().Format("2006-01-02T15:04:05.000Z07:00"))
	}
	a.raw("process.runtime.name", "cpython")
	a.text("process.runtime.version", k.Python)
	a.text("ipytracer.ipython.version", k.IPython)
	a.text("ipytracer.frontend", k.Frontend)
	a.text("container.id", k.ContainerID)
	a.text("k8s.namespace.name", k.Namespace)
	if k.Pod != k.PodUID { // an unknown name is the UID
		a.text("k8s.pod.name", k.Pod)
	}
	a.text("k8s.pod.uid", k.PodUID)
	a.int("ipytracer.kernel", int64(k.Slot))
	a.text("ipytracer.claimed.kernel_id", k.Claimed.KernelID)
	if users {
		a.text("user.name", k.User)
		a.text("ipytracer.hub.server", k.HubServer)
		a.text("ipytracer.claimed.hub_user", k.Claimed.HubUser)
		a.text("ipytracer.claimed.hub_server", k.Claimed.HubServer)
		a.text("ipytracer.claimed.notebook", k.Claimed.Notebook)
	}
}
