package names

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
	"ipytracer/model/words"
)

// shapesOnly finds names of which only the shape or the length is asked for behind the highest moment.
//
// The rule is that of [deletes], but the uses behind the last other one are NAME.shape and len(NAME). The change keeps
// the shape under a name of its own.
func shapesOnly(l *lives) []evidence.Candidate { return l.each(l.shape) }

func (l *lives) shape(s *evidence.Statement, name string) (c evidence.Candidate, ok bool) {
	of := func(site *evidence.Site) bool { return site.Statement == s }
	peak := l.n.Peak
	if !peak.Behind(s) || peak.Bytes(of) == 0 {
		return c, false
	}
	life, ok := l.life(s, name)
	if !ok || len(life.shapes) == 0 || !peak.Behind(life.last) || life.end < peak.Order {
		return c, false
	}
	share, accuracy := l.share(s, name, life)
	if accuracy == "" {
		return c, false
	}
	kept, keeps := name+"_length", "len("+name+")"
	for _, user := range life.shapes {
		if asksShape(user.Node, name) {
			kept, keeps = name+"_shape", name+".shape"
		}
	}
	if len(l.words[kept]) > 0 {
		return c, false
	}
	edits, ok := l.n.Insert(life.last, kept+" = "+keeps+"\ndel "+name)
	if !ok {
		return c, false
	}
	for _, user := range life.shapes {
		edits = append(edits, replaced(user, name, kept)...)
	}
	if !apart(edits) {
		return c, false
	}
	c = evidence.Candidate{
		Kind: "shape", Cell: life.last.Cell, Line: life.last.End(), Names: []string{name}, Accuracy: accuracy,
		Edits: edits, Of: words.NameKey(s.Window.ID, name),
		Falls: func(m *evidence.Moment) int64 {
			if !m.Behind(life.last) || m.Order >= life.end {
				return 0
			}
			return min(share, l.n.Resident(m, of))
		},
		Title: words.OnlyShape(name, peakBytes(l.n, of, share), evidence.PlaceOf(s, s.Line),
			evidence.PlaceOf(life.last, life.last.End())),
		Changes: []string{words.NameGone(name)},
	}
	l.doubt(&c, s, life)
	return c, true
}

// replaced returns the edits that ask for a kept shape in a statement.
func replaced(s *evidence.Statement, name, kept string) []model.AdviceEdit {
	type part struct {
		from, to syntax.Pos
		text     string
	}
	var parts []part
	syntax.Walk(s.Node, func(n syntax.Node) bool {
		if shapeOf(n, name) {
			text := kept
			if _, ok := n.(*syntax.Call); ok && strings.HasSuffix(kept, "_shape") {
				text += "[0]"
			}
			parts = append(parts, part{n.Place().Start, n.Place().End, text})
			return false
		}
		return true
	})
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(b.from.Offset, a.from.Offset) })
	lines := map[int]string{}
	for _, p := range parts { // from the end, so that places in front stay
		if p.from.Line != p.to.Line {
			return nil
		}
		line, known := lines[p.from.Line]
		if !known {
			line = s.Cell.Line(p.from.Line)
		}
		lines[p.from.Line] = line[:p.from.Col] + p.text + line[p.to.Col:]
	}
	var edits []model.AdviceEdit
	for number, text := range lines {
		edits = append(edits, evidence.Replace(s.Cell, number, number, text))
	}
	return edits
}

// apart reports whether no two edits replace the same line, and sorts them.
func apart(edits []model.AdviceEdit) bool {
	slices.SortStableFunc(edits, func(a, b model.AdviceEdit) int {
		return cmp.Or(cmp.Compare(a.Execution, b.Execution), cmp.Compare(a.StartLine, b.StartLine),
			cmp.Compare(a.EndLine, b.EndLine))
	})
	for i := 1; i < len(edits); i++ {
		if a, b := &edits[i-1], &edits[i]; a.Execution == b.Execution && b.StartLine <= a.EndLine {
			return false
		}
	}
	return true
}

// asksShape reports whether a statement asks for NAME.shape.
func asksShape(node syntax.Node, name string) (found bool) {
	syntax.Walk(node, func(n syntax.Node) bool {
		if a, ok := n.(*syntax.Attribute); ok && a.Attr == "shape" && isName(a.Value, name) {
			found = true
		}
		return !found
	})
	return found
}
