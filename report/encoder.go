package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"ipytracer/internal/report/escape"
)

// encoder writes the frequent items of a long session as [json.Encoder] would, but in a tenth of the time: without
// reflection, and with little memory of its own.
type encoder struct {
	tables *tables
	b      []byte   // the present item
	keys   []string // of the present map
	err    error    // the first error
}

// The methods below write one value. before is the text in front of it, with the name: `,"pid":`.

// raw writes a text as it is.
func (e *encoder) raw(s string) { e.b = append(e.b, s...) }

// int writes a number.
func (e *encoder) int(before string, n int64) { e.b = strconv.AppendInt(append(e.b, before...), n, 10) }

// truth writes true or false.
func (e *encoder) truth(before string, v bool) { e.b = strconv.AppendBool(append(e.b, before...), v) }

// text writes a string.
func (e *encoder) text(before, s string) {
	e.raw(before)
	e.string(s)
}

// intIfAny writes a number unless it is 0.
func (e *encoder) intIfAny(before string, n int64) {
	if n != 0 {
		e.int(before, n)
	}
}

// truthIfAny writes true, or nothing.
func (e *encoder) truthIfAny(before string, v bool) {
	if v {
		e.truth(before, v)
	}
}

// textIfAny writes a string unless it is empty.
func (e *encoder) textIfAny(before, s string) {
	if s != "" {
		e.text(before, s)
	}
}

// string writes a string with its quotes. It leaves strings with other characters than printable ASCII, newlines and
// tabs to encoding/json.
func (e *encoder) string(text string) {
	begin := len(e.b)
	e.b = append(e.b, '"')
	first := 0 // the first byte that is not written yet
	for i := range len(text) {
		escape := escapes[text[i]]
		switch escape {
		case asItIs:
			continue
		case byPackageJSON:
			e.b = e.b[:begin]
			e.any(text)
			return
		}
		e.b = append(append(e.b, text[first:i]...), '\\', escape)
		first = i + 1
	}
	e.b = append(append(e.b, text[first:]...), '"')
}

// Values of escapes that are no characters.
const (
	asItIs        = 0
	byPackageJSON = 1
)

// escapes has, for each byte of a string, the character that stands for it behind a backslash, asItIs, or
// byPackageJSON.
var escapes = func() (table [256]byte) {
	for c := range table {
		if c < ' ' || c >= 0x7f {
			table[c] = byPackageJSON
		}
	}
	table['"'], table['\\'], table['\n'], table['\t'] = '"', '\\', 'n', 't'
	return table
}()

// each writes a map as an object, with the keys sorted. write writes a colon and the value.
func each[V any](e *encoder, before string, values map[string]V, write func(*encoder, V)) {
	e.raw(before)
	e.keys = e.keys[:0]
	for key := range values {
		e.keys = append(e.keys, key)
	}
	slices.Sort(e.keys)
	e.raw("{")
	for i, key := range e.keys {
		e.text(comma(i), key)
		write(e, values[key])
	}
	e.raw("}")
}

// asciiEscapes writes invisible characters of encoded JSON as \u escapes. Such characters are always within strings,
// because JSON is ASCII elsewhere.
func asciiEscapes(encoded []byte) []byte {
	first := 0
	for first < len(encoded) && encoded[first] < 0x7f {
		first++
	}
	if first == len(encoded) {
		return encoded
	}
	out := make([]byte, 0, len(encoded))
	for len(encoded) > 0 {
		char, size := utf8.DecodeRune(encoded)
		switch {
		case char < 0x7f || char != 0x7f && escape.Visible(char):
			out = append(out, encoded[:size]...)
		case char < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, char)
		default:
			high, low := utf16.EncodeRune(char)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		}
		encoded = encoded[size:]
	}
	return out
}

// comma returns the text in front of the i-th item.
func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// any writes any value as encoding/json does, but with invisible characters as \u escapes.
func (e *encoder) any(v any) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		if e.err == nil {
			e.err = err
		}
		return
	}
	e.b = append(e.b, asciiEscapes(bytes.TrimSuffix(out.Bytes(), []byte("\n")))...)
}
