package hostile

import (
	"iter"
	"strings"
)

// JSON yields names and JSON documents of about size bytes. A document is before, a well-formed value and after. Each
// value costs a decoder much memory, depth or time for its length.
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

// members returns an object of about size bytes, all members of which have different names.
func members(size int) string {
	const mostOfMember = 12 // bytes of a member and the end
	var b strings.Builder
	b.WriteString(`{"":0`)
	for n := 0; b.Len() < size-mostOfMember; n++ {
		b.WriteString(`,"`)
		for d := n; d > 0; d /= 64 {
			b.WriteByte("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[d%64])
		}
		b.WriteString(`":0`)
	}
	return b.String() + "}"
}
