package arrays

import (
	"strings"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// typing has the rule about dtypes.
type typing struct{ *finder }

// dtypes finds arrays with numbers that a narrower dtype holds without loss.
func (s typing) dtypes() (found []notebook.Candidate) {
	for i := range s.n.Variables {
		variable := &s.n.Variables[i]
		if !s.step() {
			break
		}
		if variable.Kind != "variable" || !isArray(variable) || variable.Contents == nil ||
			variable.Contents.Fits == "" || variable.BaseBytes > 0 ||
			len(variable.Also) > 0 || elements(value{shape: variable.Shape})*itemSize(variable.DType) < 2*least {
			continue
		}
		if c, ok := s.narrow(variable); ok {
			found = append(found, c)
		}
	}
	return found
}

// narrow is about one array: it is bound once, by an expression that makes it, and its uses keep their results.
func (s typing) narrow(variable *model.Variable) (c notebook.Candidate, ok bool) {
	dtype := variable.Contents.Fits
	if dtype == "float16" {
		dtype = "float32" // NumPy computes with it as slowly as exactly
	}
	if itemSize(dtype) == 0 || itemSize(dtype) >= itemSize(variable.DType) || s.module() == "" ||
		len(s.binds[variable.Name]) != 1 ||
		s.shared[variable.Name] {
		return c, false
	}
	b := s.binds[variable.Name][0]
	if b.value == nil || !isAssigned(b) {
		return c, false
	}
	uses := s.usesOf(variable.Name, b)
	if isInteger(variable.DType) && uses.computes || uses.unknown {
		return c, false
	}
	edits, inCall := s.withDType(b, dtype)
	if edits == nil {
		return c, false
	}
	c = notebook.Candidate{Kind: Narrow, Cell: b.s.Cell, Line: b.value.Place().Start.Line,
		Names: []string{variable.Name}, Accuracy: model.SavesBound, Of: b.s.Source(), Edits: edits}
	contents := variable.Contents
	if contents.IsSample() {
		c.Accuracy = model.SavesGuess
		c.Unknown = append(c.Unknown, words.NarrowSample(variable.Name, contents.Seen, contents.Elements))
	}
	c.Falls = s.narrowed(variable, b, dtype, inCall, uses.indexes)
	c.Title = words.Narrow(variable.Name, variable.DType, dtype, contents.Min.String(), contents.Max.String())
	if isInteger(variable.DType) {
		c.Changes = []string{words.NarrowIntegers(variable.Name, dtype)}
	} else {
		c.Changes = []string{words.NarrowFloats(variable.Name, dtype)}
	}
	if len(uses.calls) > 0 {
		c.Unknown = append(c.Unknown, words.NarrowCalls(variable.Name, uses.calls))
	}
	return c, true
}

// narrowed returns the memory that goes: a share of the array while it lives. If the change converts the array that an
// expression made, both live for a moment, and no moment gets lower than that one.
func (s typing) narrowed(variable *model.Variable, b bind, dtype string, inCall bool,
	indexes map[*notebook.Statement]bool) func(*notebook.Moment) int64 {
	whole := elements(value{shape: variable.Shape}) * itemSize(variable.DType)
	narrow := whole / itemSize(variable.DType) * itemSize(dtype)
	made := func(site *notebook.Site) bool { return isNumPy(site) && site.Statement == b.s }
	touched := s.touched(variable.Name, b)
	floor := int64(0)
	if !inCall && b.s.Moment != nil {
		floor = max(b.s.Moment.Peak, b.s.Moment.End+narrow)
	}
	return func(moment *notebook.Moment) int64 {
		if moment.Statement == b.s && !inCall || indexes[moment.Statement] {
			return 0
		}
		bytes := min(max(s.n.Resident(moment, made), min(moment.Bytes(made), touched)), whole)
		return max(0, min(bytes-bytes/itemSize(variable.DType)*itemSize(dtype), moment.Peak-floor))
	}
}

// touched returns the memory that the statements which mention a name brought in without making arrays: zeros are there
// once they are written to.
func (s typing) touched(name string, b bind) (bytes int64) {
	for _, st := range s.n.Statements {
		if moment := st.Moment; moment != nil && st.Node != nil && st.Order >= b.order && s.mentions(st.Node, name) {
			kept := int64(0)
			if st != b.s {
				kept = moment.KeptBytes(isNumPy)
			}
			bytes += max(0, moment.End-moment.Start-kept)
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
	// indexes are statements that use the array as an index, or count with it: NumPy makes a copy of int64 for that.
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
func (s typing) hasDTypeOf(expr syntax.Expr, name string) bool {
	switch x := expr.(type) {
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
func (s typing) useInCall(u *uses, st *notebook.Statement, call *syntax.Call, is func(syntax.Expr) bool) {
	of, method, _ := s.method(call)
	if of != nil && is(of) {
		if method == "cumsum" || method == "prod" || method == "dot" || method == "view" || method == "cumprod" {
			u.computes = true
		}
		return
	}
	argument := false
	for _, a := range call.Args {
		argument = argument || is(a)
	}
	for _, k := range call.Keywords {
		argument = argument || is(k.Value)
	}
	if !argument {
		return
	}
	switch name := s.numpy(call.Func); {
	case reductions[name] || copying[name] || name == "unique" || name == "isnan":
	case name == "bincount" || name == "take" || name == "add.at":
		u.indexes[st] = true
	case name != "":
		u.computes = true
	case harmless[strings.TrimPrefix(s.full(call.Func), "builtins.")]:
	default:
		u.calls = append(u.calls, syntax.LastName(call.Func))
	}
}

// isMask reports whether an index is a comparison, which makes a copy.
func isMask(e syntax.Expr) bool {
	_, ok := e.(*syntax.Compare)
	return ok
}
