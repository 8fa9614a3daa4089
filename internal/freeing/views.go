package freeing

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ipytracer/event"
)

// OfViews returns code that replaces views by copies. It is "" where not all of them can be replaced: one that stays
// keeps everything.
func OfViews(viewers []event.Viewer, collects bool) string {
	var lines, outputs []string
	for _, one := range viewers {
		if one.Fixed {
			return ""
		}
		var places []string
		for _, path := range one.Paths {
			text, ok := placeAt(path)
			if !ok {
				return ""
			}
			places = append(places, text)
		}
		if len(places) == 0 {
			return ""
		}
		lines = append(lines, replaced(places, one.How)...)
		for _, n := range one.Outputs {
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

// copying has code that makes a copy of x, or of a part of it, for each way, in the order in which the ways are
// applied.
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

// object matches x in the code of [copying].
var object = regexp.MustCompile(`\bx\b`)

// replaced returns code that makes copies of an object, in each of the ways, and puts them in its places.
func replaced(places []string, ways []event.ViewCopy) (lines []string) {
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

// placeAt returns a path that begins with a variable as code; ok is false where that is not possible.
func placeAt(path string) (text string, ok bool) {
	end := strings.IndexAny(path, ".[(")
	if end < 0 {
		end = len(path)
	}
	if !isName(path[:end]) {
		return "", false
	}
	return expression(path[:end], stepsOf(event.Holder{Path: path}, path[:end]))
}
