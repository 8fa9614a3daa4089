package freeing

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ipytracer/event"
)

// OfViews returns code that replaces views by copies. It returns "" if a view cannot be replaced: one view is enough to
// keep all of the memory.
func OfViews(viewers []event.Viewer, collects bool) string {
	var lines, outputs []string
	for _, viewer := range viewers {
		if viewer.Fixed {
			return ""
		}
		var places []string
		for _, path := range viewer.Paths {
			text, ok := pathCode(path)
			if !ok {
				return ""
			}
			places = append(places, text)
		}
		if len(places) == 0 {
			return ""
		}
		lines = append(lines, replacingCode(places, viewer.How)...)
		for _, n := range viewer.Outputs {
			text := "%xdel _"
			if n >= 0 {
				text = fmt.Sprintf("%%xdel _%d", n)
			}
			if !slices.Contains(outputs, text) {
				outputs = append(outputs, text)
			}
		}
	}
	lines = append(outputs, lines...)
	if collects {
		lines = append(lines, Collect)
	}
	return strings.Join(lines, "\n")
}

// copying has, for each way to copy, the code that copies x or a part of x. Code applies the ways in this order.
var copying = []struct {
	how                event.ViewCopy
	before, part, code string
}{
	{how: event.CopyObject, code: "x.copy()"}, {how: event.CopyTensor, code: "x.clone()"},
	{how: event.CopyLoose, code: "x.detach().clone()"},
	{how: event.CopyBytes, code: "bytes(x)"},
	{how: event.CopyTable, code: "x.from_arrays([c.combine_chunks() for c in x.columns], schema=x.schema)"},
	{how: event.CopyBatch, before: pyarrow,
		code: "x.from_arrays([pyarrow.concat_arrays([c]) for c in x.columns], schema=x.schema)"},
	{how: event.CopyChunked, before: pyarrow, code: "pyarrow.chunked_array([x.combine_chunks()])"},
	{how: event.CopyArrow, before: pyarrow, code: "pyarrow.concat_arrays([x])"},
	{how: event.CopyRepeated, code: "x.repeat(1)"}, {how: event.CopyAnew, code: "x.apply(lambda c: c.repeat(1))"},
	{how: event.CopyIndex, part: ".index", code: "x.index.copy(deep=True)"},
	{how: event.CopyColumns, part: ".columns", code: "x.columns.copy(deep=True)"},
}

const pyarrow = "import pyarrow; "

// object matches the name x in the code of [copying].
var object = regexp.MustCompile(`\bx\b`)

// replacingCode returns code that copies an object in each of the ways, and assigns the copies to its places.
func replacingCode(places []string, ways []event.ViewCopy) (lines []string) {
	for _, one := range copying {
		if !slices.Contains(ways, one.how) {
			continue
		}
		to := strings.Join(places, " = ")
		if one.part != "" {
			to = places[0] + one.part
		}
		lines = append(lines, one.before+to+" = "+object.ReplaceAllLiteralString(one.code, places[0]))
	}
	return lines
}

// pathCode returns a path that begins with a variable as code; ok is false if that is not possible.
func pathCode(path string) (text string, ok bool) {
	end := strings.IndexAny(path, ".[(")
	if end < 0 {
		end = len(path)
	}
	if !isName(path[:end]) {
		return "", false
	}
	return expression(path[:end], stepsOf(event.Holder{Path: path}, path[:end]))
}
