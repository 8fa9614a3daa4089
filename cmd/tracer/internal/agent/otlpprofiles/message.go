// Package otlpprofiles makes messages of OpenTelemetry's protocol for profiles (OTLP, v1development) of pprof's.
package otlpprofiles

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"

	"github.com/google/pprof/profile"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/otlp/profiles/v1development"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
)

// SpanLabel is the label of a sample that has the id of its span, in hexadecimal digits.
const SpanLabel = "span_id"

// Message is a request with profiles of one kernel. Their tables are shared: entry 0 of each stands for none.
type Message struct {
	data     *profilespb.ProfilesData
	scope    *profilespb.ScopeProfiles
	tables   *profilespb.ProfilesDictionary
	strings  map[string]int32
	places   map[place]int32
	methods  map[method]int32
	stacks   map[string]int32
	links    map[telemetry.SpanID]int32
	trace    func(telemetry.SpanID) (trace [16]byte, known bool)
	profiles int
	samples  int
}

type method struct{ name, file int32 }

type place struct {
	method int32
	line   int64
}

// NewMessage returns a message without profiles. The trace of a span is asked for by its id; a sample of a span without
// one has no link.
func NewMessage(of *resourcepb.Resource, version string,
	trace func(telemetry.SpanID) ([16]byte, bool)) *Message {
	m := &Message{
		scope: &profilespb.ScopeProfiles{Scope: &commonpb.InstrumentationScope{Name: "ipytracer", Version: version}},
		tables: &profilespb.ProfilesDictionary{
			MappingTable: []*profilespb.Mapping{{}}, LocationTable: []*profilespb.Location{{}},
			FunctionTable: []*profilespb.Function{{}}, LinkTable: []*profilespb.Link{{}}, StringTable: []string{""},
			AttributeTable: []*profilespb.KeyValueAndUnit{{}}, StackTable: []*profilespb.Stack{{}},
		},
		strings: map[string]int32{"": 0}, places: map[place]int32{}, methods: map[method]int32{},
		stacks: map[string]int32{"": 0}, links: map[telemetry.SpanID]int32{}, trace: trace,
	}
	m.data = &profilespb.ProfilesData{
		ResourceProfiles: []*profilespb.ResourceProfiles{{
			Resource: of, ScopeProfiles: []*profilespb.ScopeProfiles{m.scope},
		}},
		Dictionary: m.tables,
	}
	return m
}

// Len returns the number of pprof's profiles that the message has, and of their samples.
func (m *Message) Len() (profiles, samples int) { return m.profiles, m.samples }

// Bytes returns the message as it is sent: the request of the service for profiles has the same fields.
func (m *Message) Bytes() ([]byte, error) { return proto.Marshal(m.data) }

// Add adds a profile: one of OTLP's for each type of its values. A value is the same integer, and one of 0 is left out.
func (m *Message) Add(p *profile.Profile) {
	m.profiles++
	m.samples += len(p.Sample)
	stacks, links := make([]int32, len(p.Sample)), make([]int32, len(p.Sample))
	for i, s := range p.Sample {
		stacks[i], links[i] = m.stack(s), m.link(s)
	}
	for k, of := range p.SampleType {
		one := &profilespb.Profile{
			SampleType: m.valueType(of), PeriodType: m.valueType(p.PeriodType), Period: p.Period,
			TimeUnixNano: uint64(max(0, p.TimeNanos-p.DurationNanos)), DurationNano: uint64(max(0, p.DurationNanos)),
			ProfileId: make([]byte, 16),
		}
		_, _ = rand.Read(one.ProfileId) // it never fails
		for i, s := range p.Sample {
			if s.Value[k] != 0 {
				one.Samples = append(one.Samples, &profilespb.Sample{
					StackIndex: stacks[i], LinkIndex: links[i], Values: []int64{s.Value[k]},
				})
			}
		}
		if len(one.Samples) > 0 {
			m.scope.Profiles = append(m.scope.Profiles, one)
		}
	}
}

func (m *Message) text(s string) int32 {
	n, known := m.strings[s]
	if !known {
		n = int32(len(m.tables.StringTable))
		m.tables.StringTable = append(m.tables.StringTable, s)
		m.strings[s] = n
	}
	return n
}

func (m *Message) valueType(v *profile.ValueType) *profilespb.ValueType {
	return &profilespb.ValueType{TypeStrindex: m.text(v.Type), UnitStrindex: m.text(v.Unit)}
}

// stack returns the entry of a sample's stack, innermost call first.
func (m *Message) stack(s *profile.Sample) int32 {
	var locations []int32
	var key []byte
	for _, l := range s.Location {
		for i := range l.Line {
			n := m.location(&l.Line[i])
			locations = append(locations, n)
			key = binary.LittleEndian.AppendUint32(key, uint32(n))
		}
	}
	n, known := m.stacks[string(key)]
	if !known {
		n = int32(len(m.tables.StackTable))
		m.tables.StackTable = append(m.tables.StackTable, &profilespb.Stack{LocationIndices: locations})
		m.stacks[string(key)] = n
	}
	return n
}

func (m *Message) location(l *profile.Line) int32 {
	of := method{m.text(l.Function.Name), m.text(l.Function.Filename)}
	function, known := m.methods[of]
	if !known {
		function = int32(len(m.tables.FunctionTable))
		m.tables.FunctionTable = append(m.tables.FunctionTable, &profilespb.Function{
			NameStrindex: of.name, FilenameStrindex: of.file,
		})
		m.methods[of] = function
	}
	at := place{function, l.Line}
	n, known := m.places[at]
	if !known {
		n = int32(len(m.tables.LocationTable))
		m.tables.LocationTable = append(m.tables.LocationTable, &profilespb.Location{
			Lines: []*profilespb.Line{{FunctionIndex: function, Line: l.Line}},
		})
		m.places[at] = n
	}
	return n
}

// link returns the entry of the span of a sample, 0 for none.
func (m *Message) link(s *profile.Sample) int32 {
	var span telemetry.SpanID
	ids := s.Label[SpanLabel]
	if len(ids) == 0 || hex.DecodedLen(len(ids[0])) != len(span) {
		return 0
	}
	if _, err := hex.Decode(span[:], []byte(ids[0])); err != nil {
		return 0
	}
	n, known := m.links[span]
	if known {
		return n
	}
	if trace, found := m.trace(span); found {
		n = int32(len(m.tables.LinkTable))
		m.tables.LinkTable = append(m.tables.LinkTable, &profilespb.Link{TraceId: trace[:], SpanId: span[:]})
	}
	m.links[span] = n
	return n
}
