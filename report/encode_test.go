package report

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
)

// TestEncoderIsEncodingJSON: the encoder's output equals that of encoding/json for the model, field by field, for any
// values.
func TestEncoderIsEncodingJSON(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var w model.Window
		var b model.Between
		fill(random, reflect.ValueOf(&w).Elem())
		fill(random, reflect.ValueOf(&b).Elem())
		e, plain := encoder{tables: newTables()}, encoder{tables: newTables()}
		e.item(&w)
		e.b = append(e.b, '\n')
		e.item(&b)
		plain.any(asTabled(plain.tables, w))
		plain.b = append(plain.b, '\n')
		if b.Meters == nil {
			b.Meters = map[string]model.Figure{}
		}
		plain.any(tabledBetween{b, plain.tables.refused(b.Refused)})
		for i := range e.tables.frames {
			e.item(&e.tables.frames[i])
			plain.any(plain.tables.frameAs(&plain.tables.frames[i]))
		}
		for i := range e.tables.stacks {
			s := &e.tables.stacks[i]
			e.item(s)
			one := tabledStack{make([]int, s.count), s.truncated}
			for j, call := range e.tables.callsOf(s) {
				one.Frames[j] = int(call)
			}
			plain.any(one)
		}
		var k model.Track
		fill(random, reflect.ValueOf(&k).Elem())
		for i := range k.Points {
			k.Points[i].Kind = model.PointKind("vfmg"[random.IntN(4)])
		}
		k.Meter = "cpu.numpy" // encoding/json does not change the escapes of MarshalJSON
		if len(k.Gaps) == 0 {
			k.Gaps = nil
		}
		for i := range k.Gaps {
			k.Gaps[i].Reason = "probes"
		}
		e.item(&k)
		plain.any(k)
		if e.err != nil || plain.err != nil || !bytes.Equal(e.b, plain.b) {
			at := 0
			for at < min(len(e.b), len(plain.b)) && e.b[at] == plain.b[at] {
				at++
			}
			t.Fatalf("%v %v:\n%s\nis not\n%s", e.err, plain.err, e.b[max(0, at-40):min(len(e.b), at+80)],
				plain.b[max(0, at-40):min(len(plain.b), at+80)])
		}
	}
}

// asTabled returns a window as encoding/json is to write it.
func asTabled(t *tables, x model.Window) tabledWindow {
	if x.Meters == nil {
		x.Meters = map[string]model.Figure{}
	}
	x.Children = list(x.Children)
	for i := range x.Children {
		if x.Children[i].Meters == nil {
			x.Children[i].Meters = map[string]model.Figure{}
		}
	}
	w := tabledWindow{Window: x, Refused: t.refused(x.Refused)}
	for _, a := range x.Allocations {
		w.Allocations = append(w.Allocations, tabledAllocation{a, t.stack(a.Stack, a.StackTruncated)})
	}
	return w
}

var texts = []string{
	"", "x", "cpu.resident", "<&>", "a\"b\\c\n\td\re", "\b\f\x00\x1b\x7f", "ünïcode 🙂 \u2028\u200b", "\xff\xfe",
	strings.Repeat("é\x01", 9),
}

// fill sets a value at random: often to nothing.
func fill(random *rand.Rand, v reflect.Value) {
	if random.IntN(4) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(random, v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(random, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), random.IntN(4), 4))
		for i := range v.Len() {
			fill(random, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range random.IntN(5) {
			one := reflect.New(v.Type().Elem()).Elem()
			fill(random, one)
			v.SetMapIndex(reflect.ValueOf(texts[random.IntN(len(texts))]), one)
		}
	case reflect.String:
		v.SetString(texts[random.IntN(len(texts))])
	case reflect.Bool:
		v.SetBool(random.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt(random.Int64() >> random.IntN(64) * int64(1-2*random.IntN(2)))
	case reflect.Uint8:
		v.SetUint(uint64(random.IntN(256)))
	case reflect.Uint64:
		v.SetUint(random.Uint64())
	default:
		panic("the model has a field of a kind that is not known here: " + v.Type().String())
	}
}

// TestRecentStacks: stacks that share memory are distinguished by all their parts.
func TestRecentStacks(t *testing.T) {
	frames := []model.Frame{{Function: "f", File: "a.py", Line: 1}, {Function: "g", File: "a.py", Line: 2}}
	tables := newTables()
	known := map[int]bool{}
	for range 2 {
		for _, truncated := range []bool{false, true} {
			for _, stack := range [][]model.Frame{frames, frames[:1], frames[1:]} {
				at := tables.stack(stack, truncated)
				if again := tables.stack(slices.Clone(stack), truncated); again != at {
					t.Errorf("%v is %d, and %d in other memory", stack, at, again)
				}
				if got := &tables.stacks[at]; int(got.count) != len(stack) || got.truncated != truncated ||
					tables.frameAs(&tables.frames[tables.callsOf(got)[0]]) != stack[0] {
					t.Errorf("%v is %v", stack, got)
				}
				known[at] = true
			}
		}
	}
	if len(known) != 6 {
		t.Errorf("%d stacks, want 6", len(known))
	}
}
