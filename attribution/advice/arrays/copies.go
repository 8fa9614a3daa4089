package arrays

import (
	"slices"
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/advice/syntax"
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
		of := s.copyOf(b.value)
		if of == nil || !slices.Contains(v.Contents.SameAs, of.ID) || len(s.binds[of.ID]) != 1 || s.shared[of.ID] {
			continue
		}
		if c, ok := s.copied(v, b, of); ok {
			found = append(found, c)
		}
	}
	return found
}

// copyOf returns the name that an expression copies the array of; nil if it is none.
func (s *finder) copyOf(e syntax.Expr) *syntax.Name {
	call, ok := e.(*syntax.Call)
	if !ok || len(call.Keywords) > 0 {
		return nil
	}
	var of syntax.Expr
	if name := s.numpy(call.Func); name == "copy" || name == "array" {
		if len(call.Args) == 1 {
			of = call.Args[0]
		}
	} else if receiver, name, _ := s.method(call); name == "copy" && len(call.Args) == 0 {
		of = receiver
	}
	name, _ := of.(*syntax.Name)
	return name
}

func (s *finder) copied(v *model.Variable, b bind, of *syntax.Name) (c evidence.Candidate, ok bool) {
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
		Accuracy: model.SavesBound, Of: b.s.Source(), Edits: replaced(b.s.Cell, b.value, of.ID)}
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
