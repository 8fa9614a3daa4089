package frames

import (
	"fmt"
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
	wording "ipytracer/model/words"
)

// joining finds frames that loops make longer.
type joining struct{ *book }

// piecewise is a loop that makes a frame longer, piece by piece.
type piecewise struct {
	s    *evidence.Statement // the loop
	name string
	step syntax.Stmt  // name = pd.concat([name, piece])
	call *syntax.Call // of concat
	add  syntax.Expr  // the piece
	list string       // the name of the list of pieces
	from syntax.Stmt  // name = pd.DataFrame(), in front of the loop
	keys []string     // other arguments of concat
}

// pieces finds frames that a loop makes longer with concat, and copies again.
//
// The rule: a loop has name = pd.concat([name, piece]), perhaps with reset_index(drop=True) behind it, and uses the
// name in no other way; the name is an empty frame before. One concat of a list of all pieces needs the pieces and the
// result: twice the frame. A loop that copies no more often than that needs as much, and there is no advice.
func (b joining) pieces() (found []evidence.Candidate) {
	for _, s := range b.n.Statements {
		loop, ok := s.Node.(*syntax.For)
		if !ok || s.Moment == nil || len(loop.Else) > 0 {
			continue
		}
		for _, one := range loop.Body {
			p, ok := b.piecewise(s, one)
			if !ok {
				continue
			}
			if c, ok := b.collected(p); ok {
				found = append(found, c)
			}
		}
	}
	return found
}

// piecewise reads name = pd.concat([name, piece], …).reset_index(drop=True).
func (b joining) piecewise(s *evidence.Statement, one syntax.Stmt) (p piecewise, ok bool) {
	name, value := assigned(one)
	reset := false
	if method, object, call := b.method(value); method == "reset_index" {
		if len(call.Args) > 0 || len(call.Keywords) != 1 || !is(keyword(call, "drop"), "True") {
			return p, false
		}
		value, reset = object, true
	}
	function, call := b.function(value)
	if name == "" || function != "concat" || len(call.Args) != 1 {
		return p, false
	}
	list, ok := call.Args[0].(*syntax.List)
	if !ok || len(list.Elts) != 2 || !isName(list.Elts[0], name) || mentions(list.Elts[1], name) {
		return p, false
	}
	p = piecewise{s: s, name: name, step: one, call: call, add: list.Elts[1], list: name + "_parts"}
	for _, k := range call.Keywords {
		if k.Arg != "ignore_index" && k.Arg != "sort" {
			return p, false
		}
		if reset && k.Arg == "ignore_index" {
			continue
		}
		p.keys = append(p.keys, syntax.Text(s.Cell.Window.Source, k))
	}
	if reset {
		p.keys = append(p.keys, "ignore_index=True")
	}
	p.from = b.empty(s, name)
	return p, p.from != nil && count(s.Node, name) == 2 && !b.isKnown(p.list)
}

// empty returns the statement of the same cell, in front of a loop, that makes a name an empty frame; nil if there is
// none, or another statement between them has the name.
func (b joining) empty(s *evidence.Statement, name string) (from syntax.Stmt) {
	for _, one := range s.Cell.Tree.Body {
		if one == s.Node {
			return from
		}
		if id, value := assigned(one); id == name {
			from = nil
			if function, call := b.function(value); function == "DataFrame" && len(call.Args)+len(call.Keywords) == 0 {
				from = one
			}
		} else if mentions(one, name) {
			from = nil
		}
	}
	return nil
}

// count returns how often a name stands in a node.
func count(node syntax.Node, name string) (times int) {
	syntax.Walk(node, func(one syntax.Node) bool {
		if n, ok := one.(*syntax.Name); ok && n.ID == name {
			times++
		}
		return true
	})
	return times
}

// isKnown reports whether a name stands anywhere in the notebook.
func (b joining) isKnown(name string) bool {
	for _, c := range b.n.Cells {
		if c.Tree == nil || mentions(c.Tree, name) {
			return true
		}
	}
	return b.n.Variable(name) != nil
}

// collected returns the advice to collect the pieces in a list.
func (b joining) collected(p piecewise) (c evidence.Candidate, ok bool) {
	source := p.s.Cell.Window.Source
	arguments := strings.Join(append([]string{p.list}, p.keys...), ", ")
	end := p.s.Node.Place().End
	indent := "" // a loop at the top of a cell
	edits, ok := rewrite(p.s.Cell,
		instead(p.from, p.list+" = []"),
		instead(p.step, p.list+".append("+syntax.Text(source, p.add)+")"),
		change{lineEnd(source, end.Offset), lineEnd(source, end.Offset), fmt.Sprintf("\n%s%s = %s(%s)\n%sdel %s",
			indent, p.name, syntax.Text(source, p.call.Func), arguments, indent, p.list)})
	if !ok {
		return c, false
	}
	made := by(p.s)
	kept := int64(0)
	for site, bytes := range p.s.Moment.Kept {
		if made(site) && site.Meter != "cpu.mapped" {
			kept += bytes
		}
	}
	if kept == 0 {
		return c, false
	}
	return evidence.Candidate{
		Kind: "concat", Cell: p.s.Cell, Line: p.step.Place().Start.Line, Names: []string{p.name},
		Accuracy: model.SavesGuess, Edits: edits, Of: fmt.Sprint("pieces ", p.s.Window.ID),
		Title:   wording.PiecesCopied(p.name, p.s.Moment.Peak-p.s.Moment.Start, kept),
		Changes: []string{wording.PiecesChange(p.name)},
		Falls: func(m *evidence.Moment) int64 {
			if m.Statement != p.s {
				return 0
			}
			return max(0, m.Peak-m.Start-2*kept-kept/16) // some more for memory between blocks
		},
	}, true
}
