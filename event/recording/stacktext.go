package recording

import (
	"bytes"
	"math"
	"strings"

	"ipytracer/event"
)

// A recording can have hundreds of thousands of stacks, so a fast parser reads the exact form that the writer writes,
// in plain ASCII. All other texts go to encoding/json, which reads or refuses them.

// stackText is the rest of a stack's text that has not been parsed.
type stackText struct {
	rest  []byte
	names *names
}

// stack returns the same as [stackFromJSON]; nil if the text has not the writer's form.
func (b *batch) stack(text []byte, number uint64, pid int32) *event.Stack {
	t := stackText{text, &b.names}
	if !t.skipPrefix(`{"frames":[`) {
		return nil
	}
	// The count is an upper bound: names may contain this text.
	count := bytes.Count(text, []byte(`{"function":"`))
	out := &event.Stack{Number: number, PID: pid, Frames: make([]event.Frame, 0, count)}
	for {
		var f event.Frame
		if !t.frame(&f) {
			return nil
		}
		out.Frames = append(out.Frames, f)
		if !t.skipPrefix(",") {
			break
		}
	}
	switch string(t.rest) {
	case `],"more":true}`:
		out.More = true
	case `],"more":false}`:
	default:
		return nil
	}
	return out
}

// frame parses a frame, and reports whether it has the writer's form. Input, native and module may be absent.
func (t *stackText) frame(f *event.Frame) bool {
	ok := t.skipPrefix(`{"function":`) && t.string(&f.Function) && t.skipPrefix(`,"file":`) && t.string(&f.File) &&
		t.skipPrefix(`,"line":`) && t.number(&f.Line)
	if !ok {
		return false
	}
	if t.skipPrefix(`,"input":`) && !t.number(&f.Input) {
		return false
	}
	f.Native = t.skipPrefix(`,"native":true`)
	if t.skipPrefix(`,"module":`) && !t.string(&f.Module) {
		return false
	}
	return t.skipPrefix("}")
}

// skipPrefix removes a prefix, and reports whether the text began with it.
func (t *stackText) skipPrefix(prefix string) bool {
	if len(t.rest) < len(prefix) || string(t.rest[:len(prefix)]) != prefix {
		return false
	}
	t.rest = t.rest[len(prefix):]
	return true
}

// string parses a string. It accepts printable ASCII without backslashes, and the escapes by which encoding/json writes
// <, > and &.
func (t *stackText) string(to *string) bool {
	if len(t.rest) == 0 || t.rest[0] != '"' {
		return false
	}
	text := t.rest[1:]
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			*to = t.names.text(text[:i])
			t.rest = text[i+1:]
			return true
		case c < ' ' || c >= 0x7f:
			return false
		case c == '\\':
			if !isMarkup(text[i:]) {
				return false
			}
			i += escapeLength - 1
		}
	}
	return false
}

// escapeLength is the length of \u003c.
const escapeLength = 6

// isMarkup reports whether a text begins with one of the escapes that this parser reads.
func isMarkup(text []byte) bool {
	if len(text) < escapeLength {
		return false
	}
	switch string(text[:escapeLength]) {
	case `\u003c`, `\u003e`, `\u0026`:
		return true
	}
	return false
}

var markup = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// number parses an integer.
func (t *stackText) number(to *int32) bool {
	minus := t.skipPrefix("-")
	n, digits := int64(0), 0
	for digits < len(t.rest) && t.rest[digits]-'0' <= 9 {
		if digits > 9 {
			return false
		}
		n = 10*n + int64(t.rest[digits]-'0')
		digits++
	}
	if digits == 0 || digits > 1 && t.rest[0] == '0' || n > math.MaxInt32 {
		return false
	}
	if minus {
		n = -n
	}
	*to, t.rest = int32(n), t.rest[digits:]
	return true
}

const (
	maxNames = 1 << 12 // strings that names remembers
	maxName  = 1 << 8  // bytes of the longest string that names remembers
)
