package arrays

import (
	"slices"
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
	"ipytracer/model/words"
)

// changing are methods of arrays that change them.
var changing = set("sort", "fill", "resize", "put", "partition", "itemset", "setflags", "byteswap", "setfield")

// copies finds copies of arrays that neither side changes: two names of one array would do.
func (s *finder) copies() (found []evidence.Candidate) {
	for i := range s.n.Variables {
		v := &s.n.Variables[i]
		if !s.step() {
			break
		}
		if v.Kind != "variable" || !isArray(v) || v.Contents == nil || len(s.binds[v.Name]) != 1 || s.shared[v.Name] {
			continue
		}
		b := s.binds[v.Name][0]
		if b.value == nil || !isAssigned(b) {
			continue
		}
		of, text := s.copyOf(b)
		if of == nil || !slices.Contains(v.Contents.SameAs, of.ID) || len(s.binds[of.ID]) != 1 || s.shared[of.ID] {
			continue
		}
		if w := s.n.Variable(of.ID); w == nil || w.DType != v.DType {
			continue
		}
		if c, ok := s.copied(v, b, of, text); ok {
			found = append(found, c)
		}
	}
	return found
}

// copyOf returns the name that a binding copies the array of, and the code that does not copy it; nil if it is none.
// Where a conversion copies, the code still converts, should there be something to convert one day.
func (s *finder) copyOf(b bind) (of *syntax.Name, text string) {
	call, ok := b.value.(*syntax.Call)
	if !ok {
		return nil, ""
	}
	var e syntax.Expr
	switch name := s.full(call.Func); {
	case name == "numpy.copy" || name == "numpy.array" || name == "copy.copy" || name == "copy.deepcopy":
		if len(call.Args) != 1 {
			break
		}
		e = call.Args[0]
		if len(call.Keywords) > 0 && name == "numpy.array" && keyword(call, "dtype") != nil && len(call.Keywords) == 1 {
			text = s.module() + ".asarray"
			whole := b.s.Cell.Text(call)
			text += whole[len(b.s.Cell.Text(call.Func)):]
		} else if len(call.Keywords) > 0 {
			e = nil
		}
	default:
		receiver, name, _ := s.method(call)
		if name == "copy" && len(call.Args)+len(call.Keywords) == 0 {
			e = receiver
		}
		if whole := b.s.Cell.Text(call); name == "astype" && len(call.Args) == 1 && len(call.Keywords) == 0 &&
			len(whole) > 0 {
			e, text = receiver, strings.TrimRight(whole[:len(whole)-1], ", ")+", copy=False)"
		}
	}
	of, _ = e.(*syntax.Name)
	if of != nil && text == "" {
		text = of.ID
	}
	return of, text
}

func (s *finder) copied(v *model.Variable, b bind, of *syntax.Name, text string) (c evidence.Candidate, ok bool) {
	for _, st := range s.n.Statements {
		if st.Node == nil {
			if strings.Contains(st.Source(), v.Name) || strings.Contains(st.Source(), of.ID) {
				return c, false
			}
			continue
		}
		if st == b.s || st.Order < b.order && !isDefinition(st.Node) {
			continue
		}
		for _, name := range []string{v.Name, of.ID} {
			if s.mentions(st.Node, name) && s.changes(st.Node, name) {
				return c, false
			}
		}
	}
	made := func(site *evidence.Site) bool { return isNumPy(site) && site.Statement == b.s }
	c = evidence.Candidate{Kind: Copy, Cell: b.s.Cell, Line: b.s.Line, Names: []string{v.Name, of.ID},
		Accuracy: model.SavesBound, Of: b.s.Source(), Edits: replaced(b.s.Cell, b.value, text)}
	c.Falls = func(m *evidence.Moment) int64 { return s.n.Resident(m, made) }
	c.Title = words.SameArray(v.Name, of.ID, elements(value{shape: v.Shape})*itemSize(v.DType))
	c.Changes = []string{words.SameArrayChanges(v.Name, of.ID)}
	return c, c.Edits != nil
}

// changes reports whether a statement may change the array of a name, give it to something that may, or bind the name
// to another one.
func (s *finder) changes(node syntax.Node, name string) bool {
	h := holding{values: s.values, name: name}
	h.shown = true
	if h.statement(node); h.escapes {
		return true
	}
	changes := false
	s.walk(node, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.AugAssign:
			changes = changes || s.mentions(x.Target, name)
		case *syntax.Assign:
			for _, target := range x.Targets {
				changes = changes || s.mentions(target, name)
			}
		case *syntax.Delete:
			for _, target := range x.Targets {
				_, whole := target.(*syntax.Name)
				changes = changes || !whole && s.mentions(target, name)
			}
		case *syntax.Call:
			changes = changes || s.changesIn(&h, x)
		}
		return !changes
	})
	return changes
}

// changesIn reports whether a call may change the array.
func (s *finder) changesIn(h *holding, x *syntax.Call) bool {
	if of, name, _ := s.method(x); of != nil && h.has(of) {
		return changing[name] || !pure[name]
	}
	if out := keyword(x, "out"); out != nil && h.has(out) {
		return true
	}
	name := s.numpy(x.Func)
	return name != "" && !h.returnsFresh(name, x) && h.anyArgument(x)
}
