package recording

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/hostile"
)

// stackTexts are stacks in the writer's form, and in other forms.
func stackTexts(t testing.TB) (written, other []string) {
	for _, s := range []event.Stack{
		{Frames: []event.Frame{{Function: "<module>", File: "/tmp/ipykernel_1/2.py", Line: 3}}},
		{
			Frames: []event.Frame{
				{Function: "a && b <c>", File: "f", Line: math.MaxInt32},
				{Native: true, Module: "libm.so.6", Line: math.MinInt32 + 1},
			},
			More: true,
		},
		{
			Frames: []event.Frame{
				{Function: "f", File: "<ipython-input-7-0>", Line: 2, Input: 7},
				{Function: "g", Input: math.MaxInt32, Native: true},
			},
		},
		{Frames: []event.Frame{{Native: true}, {Module: "m"}, {Function: strings.Repeat("long", 200)}}},
	} {
		text, err := stackToJSON(&s)
		if err != nil {
			t.Fatal(err)
		}
		written = append(written, string(text))
	}
	return written, []string{
		``, `{}`, `null`, `{"frames":null,"more":false}`, `{"frames":[],"more":true}`,
		`{"frames":[{"function":"f","file":"g","line":1}],"more":true} `,
		`{"frames":[{"function":"f","file":"g","line":1},],"more":true}`,
		`{"frames":[{"function":"f","file":"g","line":01}],"more":true}`,
		`{"frames":[{"function":"f","file":"g","line":-}],"more":true}`,
		`{"frames":[{"function":"f","file":"g","line":-0}],"more":true}`,
		`{"frames":[{"function":"f","file":"g","line":1.5}],"more":true}`,
		`{"frames":[{"function":"f","file":"g","line":2147483648}],"more":true}`,
		`{"frames":[{"function":"f","file":"g","line":-2147483648}],"more":true}`,
		`{"frames":[{"function":"f","file":"g","line":99999999999999999999}],"more":true}`,
		`{"frames":[{"function":"f` + "\x01" + `","file":"g","line":1}],"more":true}`,
		`{"frames":[{"function":"f` + "\xff" + `","file":"é","line":1}],"more":true}`,
		`{"frames":[{"function":"\u003C\u00e9\n\"","file":"g","line":1}],"more":true}`,
		`{"frames":[{"function":"\u003","file":"g","line":1}],"more":true}`,
		`{"frames":[{"function":"f","file":"g","line":1,"native":false,"module":"x"}],"more":true}`,
		`{"frames":[{"function":"f","file":"g","line":1,"module":"x","native":true}],"more":true}`,
		`{"frames":[{"function":"f","file":"g","line":1}],"more":true,"more":false}`,
		`{"frames":[{"function":"f","file":"g","line":1,"input":2147483648}],"more":true}`,
		`{"frames":[{"function":"f","file":"g","line":1,"native":true,"input":1}],"more":true}`,
		`{"frames":[{"function":"f","file":"{\"function\":\"","line":1}],"more":false}`,
	}
}

// sameAsJSON fails unless the fast parser reads a text as encoding/json does. It reports whether the fast parser read
// it.
func sameAsJSON(t *testing.T, b *batch, text string) bool {
	t.Helper()
	got := b.stack([]byte(text), 7, 8)
	if got == nil {
		return false
	}
	want, err := stackFromJSON([]byte(text), 7, 8)
	if err != nil {
		t.Fatalf("%q is read, and is not JSON: %v", text, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q is %+v, not %+v", text, want, got)
	}
	return true
}

// TestStackText: the fast parser reads the writer's form, as encoding/json does, and no other.
func TestStackText(t *testing.T) {
	var b batch
	written, other := stackTexts(t)
	for range 2 { // the second time the names are known
		for _, text := range written {
			if !sameAsJSON(t, &b, text) {
				t.Errorf("%q was not read", text)
			}
			for n := range text {
				if b.stack([]byte(text[:n]), 1, 1) != nil {
					t.Errorf("%q was read", text[:n])
				}
			}
		}
	}
	for _, text := range other {
		sameAsJSON(t, &b, text)
	}
}

// TestNamesAreBounded: only a bounded number of names is remembered, and no long one.
func TestNamesAreBounded(t *testing.T) {
	var n names
	for i := range 3 * maxNames {
		text := strings.Repeat("x", i%500) + string(rune('a'+i%26))
		if got := n.text([]byte(text)); got != text {
			t.Fatalf("%q is %q", text, got)
		}
	}
	if len(n.known) == 0 || len(n.known) > maxNames {
		t.Errorf("%d names are remembered", len(n.known))
	}
	for name := range n.known {
		if len(name) > maxName {
			t.Errorf("a name of %d bytes is remembered", len(name))
		}
	}
}

// FuzzStackText: the fast parser and encoding/json read every text alike.
func FuzzStackText(f *testing.F) {
	written, other := stackTexts(f)
	for _, text := range append(written, other...) {
		f.Add(text)
	}
	hostile.Fuzz(f, 64<<20, func(t *testing.T, text string) { sameAsJSON(t, new(batch), text) })
}
