package frames

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
)

// change puts text in the place of the source from one offset to another.
type change struct {
	from, to int
	text     string
}

// instead returns the change that puts text in the place of a node.
func instead(node syntax.Node, text string) change {
	p := node.Place()
	return change{p.Start.Offset, p.End.Offset, text}
}

// rewrite returns the edits of whole lines that make changes in a cell; false where they overlap or leave the source.
func rewrite(c *evidence.Cell, changes ...change) ([]model.AdviceEdit, bool) {
	source := c.Window.Source
	if strings.Contains(source, "\r") || len(changes) == 0 {
		return nil, false
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.from, b.from) })
	var edits []model.AdviceEdit
	for i := 0; i < len(changes); {
		if changes[i].from < 0 || changes[i].to > len(source) || changes[i].from > changes[i].to {
			return nil, false
		}
		start := strings.LastIndexByte(source[:changes[i].from], '\n') + 1
		end := lineEnd(source, changes[i].to)
		var text strings.Builder
		at := start
		for ; i < len(changes) && changes[i].from <= end; i++ {
			if changes[i].from < at || changes[i].to > len(source) {
				return nil, false
			}
			text.WriteString(source[at:changes[i].from])
			text.WriteString(changes[i].text)
			at = changes[i].to
			end = max(end, lineEnd(source, at))
		}
		text.WriteString(source[at:end])
		first := strings.Count(source[:start], "\n") + 1
		edits = append(edits,
			evidence.Replace(c, first, first+strings.Count(source[start:end], "\n"), text.String()))
	}
	return edits, true
}

// lineEnd returns the offset of the end of a line.
func lineEnd(source string, at int) int {
	if i := strings.IndexByte(source[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(source)
}
