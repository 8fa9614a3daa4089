package kept

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
)

// patch collects changes of the text of cells, each in the place of a node.
type patch map[*evidence.Cell][]change

type change struct {
	from, to syntax.Pos
	text     string
}

// put puts text in the place of a node.
func (p patch) put(c *evidence.Cell, node syntax.Node, text string) {
	place := node.Place()
	p[c] = append(p[c], change{place.Start, place.End, text})
}

// edits returns the changes as edits of whole lines: one for all changes that share lines. ok is false if two overlap.
func (p patch) edits() (edits []model.AdviceEdit, ok bool) {
	cells := make([]*evidence.Cell, 0, len(p))
	for c := range p {
		cells = append(cells, c)
	}
	slices.SortFunc(cells, func(a, b *evidence.Cell) int { return cmp.Compare(a.Index, b.Index) })
	for _, c := range cells {
		all := slices.SortedFunc(slices.Values(p[c]), func(a, b change) int {
			return cmp.Compare(a.from.Offset, b.from.Offset)
		})
		for len(all) > 0 {
			n, last := 1, all[0].to
			for n < len(all) && all[n].from.Line <= last.Line {
				if all[n].from.Offset < last.Offset {
					return nil, false
				}
				last = all[n].to
				n++
			}
			text, ok := lines(c, all[:n])
			if !ok {
				return nil, false
			}
			edits = append(edits, evidence.Replace(c, all[0].from.Line, last.Line, text))
			all = all[n:]
		}
	}
	return edits, true
}

// lines returns the lines that some changes touch, with the changes made.
func lines(c *evidence.Cell, all []change) (string, bool) {
	source := c.Window.Source
	last := all[len(all)-1].to
	if last.Offset > len(source) {
		return "", false
	}
	at := strings.LastIndexByte(source[:all[0].from.Offset], '\n') + 1
	end := len(source)
	if n := strings.IndexByte(source[last.Offset:], '\n'); n >= 0 {
		end = last.Offset + n
	}
	var out strings.Builder
	for _, one := range all {
		if one.from.Offset < at || one.to.Offset < one.from.Offset {
			return "", false
		}
		out.WriteString(source[at:one.from.Offset])
		out.WriteString(one.text)
		at = one.to.Offset
	}
	out.WriteString(source[at:end])
	return strings.TrimSuffix(out.String(), "\r"), true
}
