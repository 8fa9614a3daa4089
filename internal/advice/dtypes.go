package advice

import (
	"slices"
	"strings"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// dtypeRule finds arrays that a narrower dtype could hold.
type dtypeRule struct{ *finder }

// dtypes finds arrays whose numbers a narrower dtype holds without loss.
func (s dtypeRule) dtypes() (found []notebook.Candidate) {
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

// narrow returns the candidate about one array. It requires that a single statement makes the array, and that every use
// gives the same result with the narrower dtype.
func (s dtypeRule) narrow(variable *model.Variable) (c notebook.Candidate, ok bool) {
	dtype := variable.Contents.Fits
	if dtype == "float16" {
		dtype = "float32" // NumPy computes slowly with float16
	}
	if itemSize(dtype) == 0 || itemSize(dtype) >= itemSize(variable.DType) || s.module() == "" ||
		len(s.binds[variable.Name]) != 1 ||
		s.global[variable.Name] {
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
		Names: []string{variable.Name}, Accuracy: model.SavesBound, Memory: b.s.Source(), Edits: edits}
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

// narrowed returns the function Falls of a candidate: the part of the array that the narrower dtype saves, while the
// array lives. If the change converts an array that an expression made, both arrays live for an instant: no moment gets
// lower than this one.
func (s dtypeRule) narrowed(variable *model.Variable, b bind, dtype string, inCall bool,
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

// touched returns by how much memory rose in the statements that mention a name, without the arrays that they made. An
// array of zeros becomes resident only when it is written to.
func (s dtypeRule) touched(name string, b bind) (bytes int64) {
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

// withDType returns the edit that gives an array another dtype: an argument of the call that makes the array (inCall),
// or else a conversion of the result.
func (s dtypeRule) withDType(b bind, dtype string) (edits []model.AdviceEdit, inCall bool) {
	cell, text := b.s.Cell, s.module()+"."+dtype
	name, call := s.callOfNumPy(b.value)
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

// insertedBefore returns the source of a call with another argument at its end.
func insertedBefore(call, argument string) string {
	inner := strings.TrimRight(strings.TrimSuffix(call, ")"), " \t\n")
	if strings.HasSuffix(inner, ",") {
		return inner + " " + argument + ")"
	}
	return inner + ", " + argument + ")"
}

// hasDTypeAt reports whether a call has so many positional arguments that one may be the dtype.
func hasDTypeAt(name string, call *syntax.Call) bool {
	dtypeIndex := map[string]int{"zeros": 1, "ones": 1, "full": 2, "eye": 1, "identity": 1, "arange": 3, "array": 1,
		"zeros_like": 1, "ones_like": 1, "full_like": 2}[name]
	return len(call.Args) > dtypeIndex
}

// uses are the ways in which a notebook uses an array.
type uses struct {
	computes bool // arithmetic whose result has the array's dtype
	unknown  bool // unreadable code, or another name for the array
	// indexes are statements that use the array as an index, for which NumPy makes a copy of int64.
	indexes map[*notebook.Statement]bool
	calls   []string // other libraries' functions that get the array: they may depend on its dtype
}

// usesOf returns how the statements other than that of the binding use an array.
func (s dtypeRule) usesOf(name string, b bind) (u uses) {
	u.indexes = map[*notebook.Statement]bool{}
	for _, st := range s.n.Statements {
		if st.Node == nil {
			u.unknown = u.unknown || strings.Contains(st.Source(), name)
			continue
		}
		if st == b.s || !s.mentions(st.Node, name) {
			continue
		}
		isArray := func(e syntax.Expr) bool { return s.hasDTypeOf(e, name) }
		s.walk(st.Node, func(node syntax.Node) bool {
			switch x := node.(type) {
			case *syntax.BinOp:
				u.computes = u.computes || isArray(x.Left) || isArray(x.Right)
			case *syntax.UnaryOp:
				u.computes = u.computes || x.Op == "-" && isArray(x.Operand)
			case *syntax.AugAssign:
				_, isElement := x.Target.(*syntax.Subscript)
				u.computes = u.computes || isArray(x.Target) && !isElement || isArray(x.Value)
			case *syntax.Subscript:
				if s.mentions(x.Slice, name) && !isMask(x.Slice) {
					u.indexes[st] = true
				}
			case *syntax.Assign:
				u.unknown = u.unknown || isArray(x.Value)
			case *syntax.Call:
				s.useInCall(&u, st, x, isArray)
			}
			return true
		})
	}
	return u
}

// hasDTypeOf reports whether an expression is a name's array, a part of it, or its largest or smallest element.
func (s dtypeRule) hasDTypeOf(expr syntax.Expr, name string) bool {
	switch x := expr.(type) {
	case *syntax.Name:
		return x.ID == name
	case *syntax.Subscript:
		return s.hasDTypeOf(x.Value, name)
	case *syntax.Call:
		if reduced := s.reduced(x); reduced != nil {
			function := syntax.LastName(x.Func)
			return function != "sum" && function != "mean" && function != "size" && s.hasDTypeOf(reduced, name)
		}
	}
	return false
}

// useInCall records a use of the array as an argument, or as the object of a method.
func (s dtypeRule) useInCall(u *uses, st *notebook.Statement, call *syntax.Call, isArray func(syntax.Expr) bool) {
	object, method, _ := s.method(call)
	if object != nil && isArray(object) {
		if method == "cumsum" || method == "prod" || method == "dot" || method == "view" || method == "cumprod" {
			u.computes = true
		}
		return
	}
	isArgument := slices.ContainsFunc(call.Args, isArray) ||
		slices.ContainsFunc(call.Keywords, func(k *syntax.Keyword) bool { return isArray(k.Value) })
	if !isArgument {
		return
	}
	switch name := s.numpyName(call.Func); {
	case reductions[name] || copiers[name] || name == "unique" || name == "isnan":
	case name == "bincount" || name == "take" || name == "add.at":
		u.indexes[st] = true
	case name != "":
		u.computes = true
	case harmless[strings.TrimPrefix(s.fullName(call.Func), "builtins.")]:
	default:
		u.calls = append(u.calls, syntax.LastName(call.Func))
	}
}

// isMask reports whether an index is a comparison: its result, an array of bools, is the index, and not the name's
// array.
func isMask(e syntax.Expr) bool {
	_, ok := e.(*syntax.Compare)
	return ok
}
