package export_test

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"ipytracer/internal/report/export"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// schema has the messages and fields of Perfetto's trace.proto that a trace has: names, numbers and types as published.
// The test refuses a message with any other field.
const schema = `
name: "trace.proto" package: "perfetto.protos" syntax: "proto2"
message_type { name: "Trace"
  field { name: "packet" number: 1 label: LABEL_REPEATED type: TYPE_MESSAGE
          type_name: ".perfetto.protos.TracePacket" } }
message_type { name: "TracePacket"
  field { name: "timestamp" number: 8 label: LABEL_OPTIONAL type: TYPE_UINT64 }
  field { name: "trusted_packet_sequence_id" number: 10 label: LABEL_OPTIONAL type: TYPE_UINT32 }
  field { name: "track_event" number: 11 label: LABEL_OPTIONAL type: TYPE_MESSAGE
          type_name: ".perfetto.protos.TrackEvent" }
  field { name: "sequence_flags" number: 13 label: LABEL_OPTIONAL type: TYPE_UINT32 }
  field { name: "track_descriptor" number: 60 label: LABEL_OPTIONAL type: TYPE_MESSAGE
          type_name: ".perfetto.protos.TrackDescriptor" } }
message_type { name: "TrackDescriptor"
  field { name: "uuid" number: 1 label: LABEL_OPTIONAL type: TYPE_UINT64 }
  field { name: "name" number: 2 label: LABEL_OPTIONAL type: TYPE_STRING }
  field { name: "process" number: 3 label: LABEL_OPTIONAL type: TYPE_MESSAGE
          type_name: ".perfetto.protos.ProcessDescriptor" }
  field { name: "parent_uuid" number: 5 label: LABEL_OPTIONAL type: TYPE_UINT64 }
  field { name: "counter" number: 8 label: LABEL_OPTIONAL type: TYPE_MESSAGE
          type_name: ".perfetto.protos.CounterDescriptor" } }
message_type { name: "ProcessDescriptor"
  field { name: "pid" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 }
  field { name: "process_name" number: 6 label: LABEL_OPTIONAL type: TYPE_STRING } }
message_type { name: "CounterDescriptor" field { name: "unit" number: 3 label: LABEL_OPTIONAL type: TYPE_INT32 } }
message_type { name: "DebugAnnotation"
  field { name: "int_value" number: 4 label: LABEL_OPTIONAL type: TYPE_INT64 }
  field { name: "string_value" number: 6 label: LABEL_OPTIONAL type: TYPE_STRING }
  field { name: "name" number: 10 label: LABEL_OPTIONAL type: TYPE_STRING } }
message_type { name: "TrackEvent"
  field { name: "debug_annotations" number: 4 label: LABEL_REPEATED type: TYPE_MESSAGE
          type_name: ".perfetto.protos.DebugAnnotation" }
  field { name: "type" number: 9 label: LABEL_OPTIONAL type: TYPE_INT32 }
  field { name: "track_uuid" number: 11 label: LABEL_OPTIONAL type: TYPE_UINT64 }
  field { name: "categories" number: 22 label: LABEL_REPEATED type: TYPE_STRING }
  field { name: "name" number: 23 label: LABEL_OPTIONAL type: TYPE_STRING }
  field { name: "counter_value" number: 30 label: LABEL_OPTIONAL type: TYPE_INT64 } }
`

// happening is one event of a trace, in any format.
type happening struct {
	at, bytes int64
	kind      int // 1 begin, 2 end, 4 counter
	track     uint64
	name      string
	numbers   map[string]int64
	texts     map[string]string
}

// track is one that a trace describes.
type track struct {
	parent  uint64
	name    string
	pid     int64
	process bool
	unit    int64
}

func printed(t *testing.T, print func(io.Writer, *model.Report) error, r *model.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := print(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func traceType(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	var file descriptorpb.FileDescriptorProto
	if err := prototext.Unmarshal([]byte(schema), &file); err != nil {
		t.Fatal(err)
	}
	descriptor, err := protodesc.NewFile(&file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return descriptor.Messages().ByName("Trace")
}

// decoded reads a trace by its schema; a field that is not in it fails the test.
func decoded(t *testing.T, data []byte) (tracks map[uint64]track, events []happening) {
	t.Helper()
	all := dynamicpb.NewMessage(traceType(t))
	if err := proto.Unmarshal(data, all); err != nil {
		t.Fatal(err)
	}
	complete(t, all)
	tracks = map[uint64]track{}
	packets := all.Get(field(all, "packet")).List()
	for i := range packets.Len() {
		p := packets.Get(i).Message()
		if n := p.Get(field(p, "trusted_packet_sequence_id")).Uint(); n != 1 {
			t.Fatalf("packet %d is of sequence %d", i, n)
		}
		if first := p.Get(field(p, "sequence_flags")).Uint() == 1; first != (i == 0) {
			t.Errorf("flags of packet %d", i)
		}
		if d := field(p, "track_descriptor"); p.Has(d) {
			describe(t, tracks, p.Get(d).Message())
			continue
		}
		e := p.Get(field(p, "track_event")).Message()
		one := happening{
			at: int64(p.Get(field(p, "timestamp")).Uint()), kind: int(e.Get(field(e, "type")).Int()),
			track: e.Get(field(e, "track_uuid")).Uint(),
			name:  e.Get(field(e, "name")).String(), bytes: e.Get(field(e, "counter_value")).Int(),
			numbers: map[string]int64{}, texts: map[string]string{},
		}
		if _, known := tracks[one.track]; !known {
			t.Fatalf("packet %d is on a track that is not described before it", i)
		}
		notes := e.Get(field(e, "debug_annotations")).List()
		for j := range notes.Len() {
			a := notes.Get(j).Message()
			if name := a.Get(field(a, "name")).String(); a.Has(field(a, "int_value")) {
				one.numbers[name] = a.Get(field(a, "int_value")).Int()
			} else {
				one.texts[name] = a.Get(field(a, "string_value")).String()
			}
		}
		events = append(events, one)
	}
	return tracks, events
}

func describe(t *testing.T, tracks map[uint64]track, d protoreflect.Message) {
	t.Helper()
	one := track{parent: d.Get(field(d, "parent_uuid")).Uint(), name: d.Get(field(d, "name")).String()}
	if d.Has(field(d, "process")) {
		p := d.Get(field(d, "process")).Message()
		one.process, one.pid, one.name = true, p.Get(field(p, "pid")).Int(), p.Get(field(p, "process_name")).String()
	} else if tracks[one.parent].process {
		one.pid = tracks[one.parent].pid
	} else if one.name != "nothing was traced" {
		t.Errorf("track %q has no process", one.name)
	}
	if d.Has(field(d, "counter")) {
		c := d.Get(field(d, "counter")).Message()
		one.unit = c.Get(field(c, "unit")).Int()
	}
	uuid := d.Get(field(d, "uuid")).Uint()
	if _, twice := tracks[uuid]; twice || uuid == 0 {
		t.Errorf("track %d is described twice, or none", uuid)
	}
	tracks[uuid] = one
}

func field(m protoreflect.Message, name protoreflect.Name) protoreflect.FieldDescriptor {
	return m.Descriptor().Fields().ByName(name)
}

// complete fails where a message has fields that the schema has not, or of another type.
func complete(t *testing.T, m protoreflect.Message) {
	t.Helper()
	if unknown := m.GetUnknown(); len(unknown) > 0 {
		number, kind, _ := protowire.ConsumeTag(unknown)
		t.Fatalf("%s has a field %d of type %d that is not in the schema", m.Descriptor().Name(), number, kind)
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				complete(t, v.List().Get(i).Message())
			}
		case f.Message() != nil:
			complete(t, v.Message())
		}
		return true
	})
}

func TestPerfetto(t *testing.T) {
	for name, make := range reporttest.Reports {
		t.Run(name, func(t *testing.T) {
			r := make()
			tracks, events := decoded(t, printed(t, export.Perfetto, r))
			nested(t, tracks, events)
			slices := 0
			for _, e := range events {
				reporttest.CheckSafe(t, e.name, "")
				for _, text := range e.texts {
					reporttest.CheckSafe(t, text, "")
				}
				if e.kind == 1 {
					slices++
				}
			}
			want := 0
			for i := range r.Windows {
				w := &r.Windows[i]
				if w.Kind != model.Session {
					want++
				}
				if w.Kind != model.Cell {
					continue
				}
				if !figuresOf(events, w) {
					t.Errorf("no slice has the figures of window %d", w.ID)
				}
			}
			if slices != want {
				t.Errorf("%d slices, not %d", slices, want)
			}
		})
	}
}

func figuresOf(events []happening, w *model.Window) bool {
	return slices.ContainsFunc(events, func(e happening) bool {
		if e.kind != 1 || e.at != w.StartNS {
			return false
		}
		for _, id := range []string{"cpu.resident", "cpu.numpy"} {
			f, ok := w.Meters[id]
			if ok &&
				(e.numbers[id+".peak"] != f.Peak || e.numbers[id+".start"] != f.Start ||
					e.numbers[id+".end"] != f.End || (e.texts[id+".inexact"] == "") != f.Exact) {
				return false
			}
		}
		return true
	})
}

// nested replays a trace as its viewer does, by time: every slice ends the one that was opened last in its track, and
// none is left open.
func nested(t *testing.T, tracks map[uint64]track, events []happening) {
	t.Helper()
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(a, b happening) int { return cmp.Compare(a.at, b.at) })
	open := map[uint64]int{}
	for _, e := range events {
		switch e.kind {
		case 1:
			open[e.track]++
			if depth := open[e.track]; strings.HasPrefix(tracks[e.track].name, "experiments") && depth > 1 {
				t.Errorf("experiments lie on each other in a track, which cuts those that overlap")
			}
		case 2:
			if open[e.track]--; open[e.track] < 0 {
				t.Errorf("an end without a beginning on %q at %d", tracks[e.track].name, e.at)
			}
		}
	}
	for at, n := range open {
		if n != 0 {
			t.Errorf("%d slices on %q have no end", n, tracks[at].name)
		}
	}
}

// TestOverlaps: windows that overlap are in lanes of their own, those within others beside them.
func TestOverlaps(t *testing.T) {
	r := reporttest.Empty()
	add := func(kind string, from, length int64) {
		r.Windows = append(r.Windows, model.Window{
			ID: len(r.Windows) + 1, Kind: kind, PID: 4242, StartNS: from, DurationNS: length, Name: kind,
			Status: model.OK,
		})
	}
	for _, kind := range []string{model.Cell, model.Experiment} {
		add(kind, 0, 100)
		add(kind, 0, 100)
		add(kind, 10, 20)
		add(kind, 50, 100)
		add(kind, 60, 0)
		add(kind, 100, 5)
		add(kind, 90, -5)
	}
	tracks, events := decoded(t, printed(t, export.Perfetto, r))
	nested(t, tracks, events)
	lanes := map[string]int{}
	for _, one := range tracks {
		lanes[one.name]++
	}
	if lanes["cells"] != 2 || lanes["experiments"] != 4 {
		t.Errorf("lanes: %v", lanes)
	}
}
