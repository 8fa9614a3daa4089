package frames

import (
	"fmt"
	"slices"
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
	wording "ipytracer/model/words"
)

// chaining finds chains of operations that each copy a frame.
type chaining struct{ *book }

// operation is one of a chain: a method, or the choice of rows.
type operation struct {
	name string // of the method; "[]" for rows
	node syntax.Expr
	call *syntax.Call // nil for rows
	// object is what the operation is on.
	object syntax.Expr
}

// chain returns the name that a chain of operations begins with, and the operations from left to right; none if it
// begins with another expression, or has other operations.
func (b *book) chain(e syntax.Expr) (name string, all []operation) {
	for range maxSteps {
		switch n := e.(type) {
		case *syntax.Name:
			slices.Reverse(all)
			return n.ID, all
		case *syntax.Subscript:
			if !b.isRows(n.Slice) {
				return "", nil
			}
			all = append(all, operation{name: "[]", node: n, object: n.Value})
			e = n.Value
		case *syntax.Attribute: // frame.loc[rows]
			if n.Attr != "loc" || len(all) == 0 || all[len(all)-1].name != "[]" {
				return "", nil
			}
			all[len(all)-1].object = n.Value
			e = n.Value
		default:
			method, object, call := b.method(n)
			if method == "" || spread(call) {
				return "", nil
			}
			all = append(all, operation{method, n, call, object})
			e = object
		}
	}
	return "", nil
}

// copying are methods of frames that copy all columns.
var copying = []string{"[]", "copy", "dropna", "reset_index", "sort_values", "sort_index", "drop_duplicates", "query",
	"fillna", "astype", "assign", "round", "set_index", "rename", "drop", "replace", "clip", "ffill", "bfill", "sample",
	"shift", "interpolate", "where", "mask", "abs"}

// chains finds chains of operations that each copy the whole frame, while the frame that they begin with lives on.
//
// The rule: a statement at the highest moments has two such operations one behind the other. The last of them is not
// needed (copy of a copy), can be a part of the one before (ignore_index), or the chain can be cut in two statements,
// so that the first frame goes before the second copy is made.
func (b chaining) chains() (found []evidence.Candidate) {
	for _, s := range b.n.Statements {
		name, value := assigned(s.Node)
		if name == "" || s.Moment == nil {
			continue
		}
		from, all := b.chain(value)
		if len(all) < 2 || inPlace(all) ||
			slices.ContainsFunc(all, func(o operation) bool { return !slices.Contains(copying, o.name) }) {
			continue
		}
		for _, way := range []func(*evidence.Statement, string, string, []operation) (evidence.Candidate, bool){
			b.ignoring, b.uncopied, b.split,
		} {
			if c, ok := way(s, name, from, all); ok {
				c.Of = fmt.Sprint("chain ", s.Window.ID)
				found = append(found, c)
			}
		}
	}
	return found
}

// inPlace reports whether an operation returns nothing.
func inPlace(all []operation) bool {
	return slices.ContainsFunc(all, func(o operation) bool {
		return o.call != nil && keyword(o.call, "inplace") != nil
	})
}

// function returns the name of the function that an operation has on a stack.
func (o *operation) function() string {
	if o.name == "[]" {
		return "__getitem__"
	}
	return o.name
}

// first returns the height that the statement had before its second operation made something: with all that the first
// one left, and three quarters of what it let go of again, which is not all there at once.
func first(s *evidence.Statement, o operation) int64 {
	made, height := by(s), s.Moment.Start
	for site, bytes := range s.Moment.Made {
		if made(site) && site.Meter != "cpu.mapped" && site.Calls(o.function()) {
			height += s.Moment.Live[site] + max(0, bytes-s.Moment.Live[site])*3/4
		}
	}
	return height
}

// ignoring merges reset_index(drop=True) into the operation before it.
func (b chaining) ignoring(s *evidence.Statement, name, _ string, all []operation) (c evidence.Candidate, ok bool) {
	last, before := all[len(all)-1], all[len(all)-2]
	if last.name != "reset_index" || len(last.call.Args) > 0 || len(last.call.Keywords) != 1 ||
		!is(keyword(last.call, "drop"), "True") || !slices.Contains([]string{"sort_values", "drop_duplicates"},
		before.name) || keyword(before.call, "ignore_index") != nil {
		return c, false
	}
	with, ok := withArgument(s.Cell.Window.Source, before.call, "ignore_index=True")
	if !ok || len(all) > 2 {
		return c, false
	}
	edits, ok := rewrite(s.Cell, with, change{before.node.Place().End.Offset, last.node.Place().End.Offset, ""})
	if !ok {
		return c, false
	}
	return b.without(s, name, last, before, edits, wording.IndexIgnored(name, before.name))
}

// uncopied drops a copy of a frame that nothing else has.
func (b chaining) uncopied(s *evidence.Statement, name, _ string, all []operation) (c evidence.Candidate, ok bool) {
	last, before := all[len(all)-1], all[len(all)-2]
	if last.name != "copy" || len(last.call.Args)+len(last.call.Keywords) > 0 || len(all) > 2 ||
		b.isChanged(name, s) || before.name == "astype" || before.call != nil && keyword(before.call, "copy") != nil {
		return c, false
	}
	edits, ok := rewrite(s.Cell, change{before.node.Place().End.Offset, last.node.Place().End.Offset, ""})
	if !ok {
		return c, false
	}
	return b.without(s, name, last, before, edits, wording.CopyOfCopy(name))
}

// without returns the advice to leave out the last operation of a chain.
func (b chaining) without(s *evidence.Statement, name string, last, before operation, edits []model.AdviceEdit,
	title string) (evidence.Candidate, bool) {
	made := by(s)
	return evidence.Candidate{
		Kind: "frame-copies", Cell: s.Cell, Line: s.Line, Names: []string{name}, Accuracy: model.SavesGuess,
		Edits: edits, Title: title,
		Falls: func(m *evidence.Moment) int64 {
			if m.Statement != s {
				return 0
			}
			copied := m.Bytes(func(site *evidence.Site) bool {
				return made(site) && site.Calls(last.function()) && !site.Calls(before.function())
			})
			return max(0, min(copied, m.Peak-first(s, before)))
		},
	}, true
}

// isChanged reports whether a later statement changes a part of what a name has.
func (b chaining) isChanged(name string, from *evidence.Statement) (changed bool) {
	for _, s := range b.n.Statements {
		if s.Order <= from.Order || s.Node == nil {
			changed = changed || s.Node == nil && s.Order > from.Order
			continue
		}
		syntax.Walk(s.Node, func(node syntax.Node) bool {
			if n, ok := node.(*syntax.Name); ok && n.ID == name {
				changed = changed || b.changes(n)
			}
			return !changed
		})
	}
	return changed
}

// changes reports whether a part of what a name has is changed here, or may be: the name stands as the object of an
// assignment, of a method that works in place, or is handed on.
func (b chaining) changes(n syntax.Expr) bool {
	at := syntax.Node(n)
	for range maxSteps {
		switch p := b.parents[at].(type) {
		case *syntax.Subscript:
			if syntax.Node(p.Value) != at {
				return false
			}
			if b.isTarget(p) {
				return true
			}
			at = p
		case *syntax.Attribute:
			if b.isTarget(p) || slices.Contains([]string{"insert", "update", "pop"}, p.Attr) {
				return true
			}
			at = p
		case *syntax.Call:
			return syntax.Node(p.Func) != at && !isName(p.Func, "len") && !isName(p.Func, "print") ||
				keyword(p, "inplace") != nil
		case *syntax.AugAssign:
			return syntax.Node(p.Target) == at
		case *syntax.Assign:
			return at == syntax.Node(n) && !slices.ContainsFunc(p.Targets, func(t syntax.Expr) bool {
				return syntax.Node(t) == at
			})
		default:
			return false
		}
	}
	return true
}

// split cuts name = name.first().second() in statements.
func (b chaining) split(s *evidence.Statement, name, from string, all []operation) (c evidence.Candidate, ok bool) {
	if _, plain := s.Node.(*syntax.Assign); name != from || !plain {
		return c, false
	}
	source := s.Cell.Window.Source
	var lines []string
	for i, o := range all {
		text := source[o.object.Place().End.Offset:o.node.Place().End.Offset]
		text = strings.TrimLeft(text, " \t\n")
		if i > 0 && mentions(&syntax.Tuple{Elts: inside(o)}, name) || strings.HasPrefix(text, "#") {
			return c, false
		}
		lines = append(lines, name+" = "+name+text)
	}
	before := b.before(s, name)
	if before == nil {
		return c, false
	}
	held := by(before)
	if !b.goes(s, held) {
		return c, false
	}
	at := s.Node.Place()
	if strings.TrimSpace(source[lineStart(source, at.Start.Offset):at.Start.Offset]) != "" {
		return c, false
	}
	edits, ok := rewrite(s.Cell, instead(s.Node, strings.Join(lines, "\n")))
	if !ok {
		return c, false
	}
	return evidence.Candidate{
		Kind: "frame-copies", Cell: s.Cell, Line: s.Line, Names: []string{name}, Accuracy: model.SavesGuess,
		Edits: edits, Title: wording.ChainHolds(name, s.Moment.Bytes(held), len(all)),
		Falls: func(m *evidence.Moment) int64 {
			if m.Statement != s {
				return 0
			}
			return max(0, min(m.Bytes(held), m.Peak-first(s, all[0])))
		},
	}, true
}

// inside returns the arguments of an operation.
func inside(o operation) (all []syntax.Expr) {
	if o.call == nil {
		return []syntax.Expr{o.node.(*syntax.Subscript).Slice}
	}
	all = append(all, o.call.Args...)
	for _, k := range o.call.Keywords {
		all = append(all, k.Value)
	}
	return all
}

// before returns the last statement in front of another one that gave a name its value.
func (b chaining) before(s *evidence.Statement, name string) (before *evidence.Statement) {
	for _, one := range b.n.Statements {
		if one.Order >= s.Order {
			break
		}
		if id, _ := assigned(one.Node); id == name {
			before = one
		}
	}
	return before
}

// goes reports whether most of the memory of some sites is gone when a statement is over.
func (b chaining) goes(s *evidence.Statement, of func(*evidence.Site) bool) bool {
	if s.Moment == nil {
		return false
	}
	for _, m := range b.n.Moments {
		if m.Order > s.Order {
			return m.Bytes(of) < s.Moment.Bytes(of)/2
		}
	}
	return false
}

func lineStart(source string, at int) int { return strings.LastIndexByte(source[:at], '\n') + 1 }
