package frames

import (
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
	wording "ipytracer/model/words"
)

// selections finds rows that are chosen with all columns, although the expression then uses few of them.
//
// The rule: frame[condition] is followed by operations that name columns, and its copy lives at the statement's peak.
func (b *book) selections() (found []evidence.Candidate) {
	for _, s := range b.n.Statements {
		if s.Node == nil || s.Moment == nil {
			continue
		}
		syntax.Walk(s.Node, func(node syntax.Node) bool {
			if sub, ok := node.(*syntax.Subscript); ok {
				if c, ok := b.selection(s, sub); ok {
					found = append(found, c)
				}
			}
			_, function := node.(*syntax.FunctionDef)
			return !function
		})
	}
	return found
}

// selection returns the advice for one frame[condition].
func (b *book) selection(s *evidence.Statement, sub *syntax.Subscript) (c evidence.Candidate, ok bool) {
	name, ok := sub.Value.(*syntax.Name)
	_, slice := sub.Slice.(*syntax.Slice)
	if !ok || slice || b.isTarget(sub) || !b.isRows(sub.Slice) {
		return c, false
	}
	f, ok := b.frameOf(name.ID)
	if !ok {
		return c, false
	}
	u := &usage{b: b, made: s, reads: map[string][]read{}, stores: map[string]int{},
		copies: map[*evidence.Statement]bool{}, foreign: map[string]bool{}}
	u.follow(s, sub)
	used, known := u.used(f)
	if u.whole || u.summed || !known || len(used) == 0 || len(u.names)+len(u.shown)+len(u.stores) > 0 {
		return c, false
	}
	changes, series := b.selected(s, sub, used)
	if changes == nil {
		return c, false
	}
	edits, ok := rewrite(s.Cell, changes...)
	if !ok {
		return c, false
	}
	kept := float64(0)
	for _, column := range used {
		if listed := f.column(column); listed != nil {
			kept += float64(listed.Bytes) / float64(f.total)
		} else {
			kept += float64(f.rest()) / float64(f.total)
		}
	}
	made := by(s)
	return evidence.Candidate{
		Kind: "select", Cell: s.Cell, Line: sub.Start.Line, Names: used, Accuracy: model.SavesBound, Edits: edits,
		Title: wording.ColumnsFirst(name.ID, used),
		Falls: func(m *evidence.Moment) int64 {
			if m.Statement != s {
				return 0
			}
			copied := m.Bytes(func(site *evidence.Site) bool {
				return made(site) && inManagers(site) && site.Calls("__getitem__") && site.Calls("take_nd")
			})
			falls := share(copied, 1-kept)
			if !series {
				falls -= share(f.total, kept)
			}
			// What the statement then does with the column is the highest part of it, if it is higher.
			then := m.Start + share(copied, kept) + later(m, made)
			return max(0, min(falls, m.Peak-then))
		},
	}, true
}

// selected returns the changes that choose columns together with rows, and whether one column is left as a series.
func (b *book) selected(s *evidence.Statement, sub *syntax.Subscript, used []string) (all []change, series bool) {
	source := s.Cell.Window.Source
	condition := syntax.Text(source, sub.Slice)
	if outer, ok := b.parents[sub].(*syntax.Subscript); ok && outer.Value == syntax.Expr(sub) {
		if column, ok := text(outer.Slice); ok {
			q, ok := quoted(s.Cell, column)
			if !ok {
				return nil, false
			}
			return []change{instead(outer, syntax.Text(source, sub.Value)+".loc["+condition+", "+q+"]")}, true
		}
	}
	var list []string
	for _, column := range used {
		q, ok := quoted(s.Cell, column)
		if !ok {
			return nil, false
		}
		list = append(list, q)
	}
	at := sub.Value.Place().End.Offset
	return []change{{at, at, "[[" + strings.Join(list, ", ") + "]]"}}, false
}

// later returns the bytes that a statement allocated for anything but the choice of rows, and that did not live at its
// peak.
func later(m *evidence.Moment, made func(*evidence.Site) bool) (bytes int64) {
	for site, all := range m.Made {
		if made(site) && site.Meter != "cpu.mapped" && !site.Calls("__getitem__") {
			bytes += max(0, all-m.Live[site])
		}
	}
	return bytes
}
