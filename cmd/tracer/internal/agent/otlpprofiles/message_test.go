package otlpprofiles

import (
	"encoding/hex"
	"math"
	"slices"
	"testing"

	"github.com/google/pprof/profile"
	profilespb "go.opentelemetry.io/proto/otlp/profiles/v1development"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
)

// profileOf returns a profile of two types of values, with a sample for each pair of them.
func profileOf(span telemetry.SpanID, values ...[2]int64) *profile.Profile {
	outer := &profile.Function{ID: 1, Name: "In[3]", Filename: "In[3]"}
	inner := &profile.Function{ID: 2, Name: "f", Filename: "/home/a/b.py"}
	at := func(f *profile.Function, line int64) *profile.Location {
		return &profile.Location{Line: []profile.Line{{Function: f, Line: line}}}
	}
	p := &profile.Profile{
		TimeNanos: 5_000, DurationNanos: 2_000, Period: 1, PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"},
		SampleType: []*profile.ValueType{{Type: "m.alloc", Unit: "bytes"}, {Type: "m.peak", Unit: "bytes"}},
	}
	for i, v := range values {
		s := &profile.Sample{Value: v[:], Location: []*profile.Location{at(inner, int64(i%2)), at(outer, 1)}}
		if span != (telemetry.SpanID{}) {
			s.Label = map[string][]string{SpanLabel: {hex.EncodeToString(span[:])}}
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// read returns a message as a receiver has it.
func read(t *testing.T, m *Message) *profilespb.ProfilesData {
	t.Helper()
	raw, err := m.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	var data profilespb.ProfilesData
	if err := proto.Unmarshal(raw, &data); err != nil {
		t.Fatal(err)
	}
	return &data
}

// TestValues: each value arrives as it is, whatever its size, under the name of its type, with its stack and times.
func TestValues(t *testing.T) {
	m := NewMessage(&resourcepb.Resource{}, "1", func(telemetry.SpanID) ([16]byte, bool) { return [16]byte{}, false })
	values := [][2]int64{{1, 0}, {math.MaxInt64, 1<<53 + 1}, {0, 7}, {4096, 5}}
	m.Add(profileOf(telemetry.SpanID{}, values...))
	m.Add(profileOf(telemetry.SpanID{}, [2]int64{0, 3}))
	data := read(t, m)
	all, d := data.ResourceProfiles[0].ScopeProfiles[0].Profiles, data.Dictionary
	if n, samples := m.Len(); n != 2 || samples != 5 || len(all) != 3 {
		t.Fatalf("%d profiles with %d samples are %d of OTLP's", n, samples, len(all))
	}
	for k, want := range [][]int64{{1, math.MaxInt64, 4096}, {1<<53 + 1, 7, 5}, {3}} {
		p := all[k]
		var got []int64
		for _, s := range p.Samples {
			got = append(got, s.Values...)
			stack := d.StackTable[s.StackIndex].LocationIndices
			if len(stack) != 2 || s.LinkIndex != 0 {
				t.Fatalf("%v", s)
			}
			var names []string
			for _, at := range stack {
				function := d.FunctionTable[d.LocationTable[at].Lines[0].FunctionIndex]
				names = append(names, d.StringTable[function.NameStrindex])
			}
			if !slices.Equal(names, []string{"f", "In[3]"}) {
				t.Errorf("%v", names)
			}
		}
		name := d.StringTable[p.SampleType.TypeStrindex]
		if !slices.Equal(got, want) || name != []string{"m.alloc", "m.peak", "m.peak"}[k] ||
			p.TimeUnixNano != 3_000 || p.DurationNano != 2_000 || len(p.ProfileId) != 16 {
			t.Errorf("%s: %v, want %v: %v", name, got, want, p)
		}
	}
	// Entry 0 of each table stands for none, and no other is there twice.
	if d.StringTable[0] != "" || len(d.StackTable) != 3 || len(d.LocationTable) != 4 || len(d.FunctionTable) != 3 ||
		len(d.StackTable[0].LocationIndices) != 0 || len(d.LinkTable) != 1 || len(d.MappingTable) != 1 {
		t.Errorf("%v", d)
	}
}

// TestLinks: the samples of a cell lead to its span, if the trace of that is known.
func TestLinks(t *testing.T) {
	known, other := telemetry.NewSpanID(), telemetry.NewSpanID()
	m := NewMessage(&resourcepb.Resource{}, "1", func(id telemetry.SpanID) ([16]byte, bool) {
		return [16]byte{1, 2, 3}, id == known
	})
	m.Add(profileOf(known, [2]int64{1, 2}, [2]int64{3, 4}))
	m.Add(profileOf(other, [2]int64{5, 6}))
	bad := profileOf(known, [2]int64{7, 8})
	bad.Sample[0].Label[SpanLabel] = []string{"no id"}
	m.Add(bad)
	data := read(t, m)
	d := data.Dictionary
	if len(d.LinkTable) != 2 || !slices.Equal(d.LinkTable[1].SpanId, known[:]) || d.LinkTable[1].TraceId[2] != 3 ||
		len(d.LinkTable[1].TraceId) != 16 {
		t.Fatalf("%v", d.LinkTable)
	}
	for _, p := range data.ResourceProfiles[0].ScopeProfiles[0].Profiles {
		for _, s := range p.Samples {
			if want := s.Values[0] <= 4; (s.LinkIndex == 1) != want {
				t.Errorf("%v", s)
			}
		}
	}
}
