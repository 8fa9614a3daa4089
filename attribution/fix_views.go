package attribution

import (
	"fmt"
	"slices"
	"strings"

	"ipytracer/event"
)

// fix is code that replaces views by copies, "" where not all of them can be replaced: one that stays keeps everything.
func (g *viewed) fix() string {
	var lines, outputs []string
	for _, one := range g.viewers {
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
	if g.collect {
		lines = append(lines, collect)
	}
	return strings.Join(lines, "\n")
}

// replaced is code that makes copies of an object, in each of the ways, and puts them in its places.
func replaced(places []string, ways []event.ViewCopy) (lines []string) {
	x := places[0]
	assign := strings.Join(places, " = ") + " = "
	for _, how := range []event.ViewCopy{event.CopyObject, event.CopyTensor, event.CopyLoose, event.CopyBytes, event.CopyIndex, event.CopyColumns} {
		if !slices.Contains(ways, how) {
			continue
		}
		switch how {
		case event.CopyObject:
			lines = append(lines, assign+x+".copy()")
		case event.CopyTensor:
			lines = append(lines, assign+x+".clone()")
		case event.CopyLoose:
			lines = append(lines, assign+x+".detach().clone()")
		case event.CopyBytes:
			lines = append(lines, assign+"bytes("+x+")")
		case event.CopyIndex:
			lines = append(lines, x+".index = "+x+".index.copy(deep=True)")
		case event.CopyColumns:
			lines = append(lines, x+".columns = "+x+".columns.copy(deep=True)")
		}
	}
	return lines
}

// placeAt is a path that begins with a variable as one types it; ok is false where that is not possible.
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
