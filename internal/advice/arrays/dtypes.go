package arrays

import (
	"strings"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// typed are functions of NumPy that take dtype= and make the same numbers with a narrower one.
var typed = set("zeros", "ones", "full", "eye", "identity", "arange", "array", "zeros_like", "ones_like", "full_like")

// typing has the rule about dtypes.
type typing struct{ *finder }

// dtypes finds arrays with numbers that a narrower dtype holds without loss.
func (s typing) dtypes() (found []notebook.Candidate) {
	for i := range s.n.Variables {
		v := &s.n.Variables[i]
		if !s.step() {
			break
		}
		if v.Kind != "variable" || !isArray(v) || v.Contents == nil || v.Contents.Fits == "" || v.BaseBytes > 0 ||
			len(v.Also) > 0 || elements(value{shape: v.Shape})*itemSize(v.DType) < 2*least {
			continue
		}
		if c, ok := s.narrow(v); ok {
			found = append(found, c)
		}
	}
	return found
}

// narrow is about one array: it is bound once, by an expression that makes it, and its uses keep their results.
func (s typing) narrow(v *model.Variable) (c notebook.Candidate, ok bool) {
	dtype := v.Contents.Fits
	if dtype == "float16" {
		dtype = "float32" // NumPy computes with it as slowly as exactly
	}
	if itemSize(dtype) == 0 || itemSize(dtype) >= itemSize(v.DType) || s.module() == "" || len(s.binds[v.Name]) != 1 ||
		s.shared[v.Name] {
		return c, false
	}
	b := s.binds[v.Name][0]
	if b.value == nil || !isAssigned(b) {
		return c, false
	}
	uses := s.usesOf(v.Name, b)
	if isInteger(v.DType) && uses.computes || uses.unknown {
		return c, false
	}
	edits, inCall := s.withDType(b, dtype)
	if edits == nil {
		return c, false
	}
	c = notebook.Candidate{Kind: Narrow, Cell: b.s.Cell, Line: b.value.Place().Start.Line, Names: []string{v.Name},
		Accuracy: model.SavesBound, Of: b.s.Source(), Edits: edits}
	if v.Contents.IsSample() {
		c.Accuracy = model.SavesGuess
		c.Unknown = append(c.Unknown, words.NarrowSample(v.Name, v.Contents.Seen, v.Contents.Elements))
	}
	c.Falls = s.narrowed(v, b, dtype, inCall, uses.indexes)
	c.Title = words.Narrow(v.Name, v.DType, dtype, v.Contents.Min.String(), v.Contents.Max.String())
	if isInteger(v.DType) {
		c.Changes = []string{words.NarrowIntegers(v.Name, dtype)}
	} else {
		c.Changes = []string{words.NarrowFloats(v.Name, dtype)}
	}
	if len(uses.calls) > 0 {
		c.Unknown = append(c.Unknown, words.NarrowCalls(v.Name, uses.calls))
	}
	return c, true
}

// narrowed returns the memory that goes: a share of the array while it lives. If the change converts the array that an
// expression made, both live for a moment, and no moment gets lower than that one.
func (s typing) narrowed(v *model.Variable, b bind, dtype string, inCall bool, indexes map[*notebook.Statement]bool,
) func(*notebook.Moment) int64 {
	whole := elements(value{shape: v.Shape}) * itemSize(v.DType)
	narrow := whole / itemSize(v.DType) * itemSize(dtype)
	made := func(site *notebook.Site) bool { return isNumPy(site) && site.Statement == b.s }
	touched := s.touched(v.Name, b)
	floor := int64(0)
	if !inCall && b.s.Moment != nil {
		floor = max(b.s.Moment.Peak, b.s.Moment.End+narrow)
	}
	return func(m *notebook.Moment) int64 {
		if m.Statement == b.s && !inCall || indexes[m.Statement] {
			return 0
		}
		bytes := min(max(s.n.Resident(m, made), min(m.Bytes(made), touched)), whole)
		return max(0, min(bytes-bytes/itemSize(v.DType)*itemSize(dtype), m.Peak-floor))
	}
}

// touched returns the memory that the statements which mention a name brought in without making arrays: zeros are there
// once they are written to.
func (s typing) touched(name string, b bind) (bytes int64) {
	for _, st := range s.n.Statements {
		if m := st.Moment; m != nil && st.Node != nil && st.Order >= b.order && s.mentions(st.Node, name) {
			kept := int64(0)
			if st != b.s {
				kept = m.KeptBytes(isNumPy)
			}
			bytes += max(0, m.End-m.Start-kept)
		}
	}
	return bytes
}

// withDType returns the edit that makes an array with another dtype: in the call that makes it, or by a conversion
// behind it.
func (s typing) withDType(b bind, dtype string) (edits []model.AdviceEdit, inCall bool) {
	cell, text := b.s.Cell, s.module()+"."+dtype
	name, call := s.call(b.value)
	if call != nil && typed[name] && call.Keyword("dtype") == nil && !hasDTypeAt(name, call) {
		return notebook.Replace(cell, call, insertedBefore(cell.Text(call), "dtype="+text)), true
	}
	switch b.value.(type) {
	case *syntax.Call:
		if call != nil && call.Keyword("dtype") != nil {
			return nil, false
		}
		return notebook.Replace(cell, b.value, cell.Text(b.value)+".astype("+text+")"), false
	case *syntax.BinOp, *syntax.UnaryOp:
		return notebook.Replace(cell, b.value, "("+cell.Text(b.value)+").astype("+text+")"), false
	}
	return nil, false
}

// insertedBefore returns the source of a call with one more argument.
func insertedBefore(call, argument string) string {
	inner := strings.TrimRight(strings.TrimSuffix(call, ")"), " \t\n")
	if strings.HasSuffix(inner, ",") {
		return inner + " " + argument + ")"
	}
	return inner + ", " + argument + ")"
}

// hasDTypeAt reports whether a call may have a dtype among its arguments without a name.
func hasDTypeAt(name string, call *syntax.Call) bool {
	most := map[string]int{"zeros": 1, "ones": 1, "full": 2, "eye": 1, "identity": 1, "arange": 3, "array": 1,
		"zeros_like": 1, "ones_like": 1, "full_like": 2}[name]
	return len(call.Args) > most
}

// uses are the ways in which a notebook uses an array.
type uses struct {
	computes bool // arithmetic that has a result of the same dtype
	unknown  bool // code that cannot be read, or a function that changes the array
	// indexes are statements that use it as an index, or count with it: NumPy makes an array of int64 for these.
	indexes map[*notebook.Statement]bool
	calls   []string // functions that are not NumPy's, which may depend on the dtype
}

func (s typing) usesOf(name string, b bind) (u uses) {
	u.indexes = map[*notebook.Statement]bool{}
	for _, st := range s.n.Statements {
		if st.Node == nil {
			u.unknown = u.unknown || strings.Contains(st.Source(), name)
			continue
		}
		if st == b.s || !s.mentions(st.Node, name) {
			continue
		}
		is := func(e syntax.Expr) bool { return s.hasDTypeOf(e, name) }
		s.walk(st.Node, func(node syntax.Node) bool {
			switch x := node.(type) {
			case *syntax.BinOp:
				u.computes = u.computes || is(x.Left) || is(x.Right)
			case *syntax.UnaryOp:
				u.computes = u.computes || x.Op == "-" && is(x.Operand)
			case *syntax.AugAssign:
				_, element := x.Target.(*syntax.Subscript)
				u.computes = u.computes || is(x.Target) && !element || is(x.Value)
			case *syntax.Subscript:
				if s.mentions(x.Slice, name) && !isMask(x.Slice) {
					u.indexes[st] = true
				}
			case *syntax.Assign:
				u.unknown = u.unknown || is(x.Value)
			case *syntax.Call:
				s.useInCall(&u, st, x, is)
			}
			return true
		})
	}
	return u
}

// hasDTypeOf reports whether an expression is an array, a part of it, or its greatest or least element.
func (s typing) hasDTypeOf(e syntax.Expr, name string) bool {
	switch x := e.(type) {
	case *syntax.Name:
		return x.ID == name
	case *syntax.Subscript:
		return s.hasDTypeOf(x.Value, name)
	case *syntax.Call:
		if of := s.reduced(x); of != nil {
			function := syntax.LastName(x.Func)
			return function != "sum" && function != "mean" && function != "size" && s.hasDTypeOf(of, name)
		}
	}
	return false
}

// useInCall notes a use as an argument or as a receiver.
func (s typing) useInCall(u *uses, st *notebook.Statement, x *syntax.Call, is func(syntax.Expr) bool) {
	of, method, _ := s.method(x)
	if of != nil && is(of) {
		if method == "cumsum" || method == "prod" || method == "dot" || method == "view" || method == "cumprod" {
			u.computes = true
		}
		return
	}
	argument := false
	for _, a := range x.Args {
		argument = argument || is(a)
	}
	for _, k := range x.Keywords {
		argument = argument || is(k.Value)
	}
	if !argument {
		return
	}
	switch name := s.numpy(x.Func); {
	case reductions[name] || copying[name] || name == "unique" || name == "isnan":
	case name == "bincount" || name == "take" || name == "add.at":
		u.indexes[st] = true
	case name != "":
		u.computes = true
	case harmless[strings.TrimPrefix(s.full(x.Func), "builtins.")]:
	default:
		u.calls = append(u.calls, syntax.LastName(x.Func))
	}
}

// isMask reports whether an index is a comparison, which makes a copy.
func isMask(e syntax.Expr) bool {
	_, ok := e.(*syntax.Compare)
	return ok
}
