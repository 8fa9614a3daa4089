package hostile

import (
	"iter"
	"strings"
)

// JSON makes JSON documents of so many bytes: a value, between the beginning and the end of a document. Each value is
// well-formed, and takes a decoder as much memory, depth or time as its length allows.
func JSON(size int, before, after string) iter.Seq2[string, string] {
	shapes := []struct{ name, begin, unit, end string }{
		{"empty objects", "[{}", ",{}", "]"},
		{"nulls", "[null", ",null", "]"},
		{"empty lists", "[[]", ",[]", "]"},
		{"empty texts", `[""`, `,""`, "]"},
		{"zeros", "[0", ",0", "]"},
		{"lists of objects", "[[{}]", ",[{}]", "]"},
		{"a member again and again", `{"a":0`, `,"a":0`, "}"},
		{"objects of objects", `{"a":{}`, `,"a":{}`, "}"},
		{"a long text", `"`, "x", `"`},
		{"escapes", `"`, `\u0000`, `"`},
		{"a long number", "1", "1", ""},
		{"white space", "", " ", "0"},
	}
	return func(yield func(string, string) bool) {
		for _, s := range shapes {
			n := max(0, size-len(before)-len(after)-len(s.begin)-len(s.end)) / len(s.unit)
			if !yield(s.name, before+s.begin+strings.Repeat(s.unit, n)+s.end+after) {
				return
			}
		}
		for name, braces := range map[string][2]string{
			"lists in lists": {"[", "]"}, "objects in objects": {`{"":`, "}"},
		} {
			n := max(0, size-len(before)-len(after)-1) / (len(braces[0]) + len(braces[1]))
			if !yield(name, before+strings.Repeat(braces[0], n)+"0"+strings.Repeat(braces[1], n)+after) {
				return
			}
		}
		if !yield("members", before+members(size-len(before)-len(after))+after) {
			return
		}
	}
}

// members returns an object of different members.
func members(size int) string {
	var b strings.Builder
	b.WriteString(`{"":0`)
	for n := 0; b.Len() < size-12; n++ {
		b.WriteString(`,"`)
		for d := n; d > 0; d /= 64 {
			b.WriteByte("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[d%64])
		}
		b.WriteString(`":0`)
	}
	return b.String() + "}"
}
