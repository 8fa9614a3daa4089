package frames

import (
	"slices"

	"ipytracer/attribution/syntax"
)

// keep are methods that return a frame with the same columns, and use none of them.
var keep = []string{"copy", "head", "tail", "sample", "sort_index", "reset_index", "round", "truncate", "shift"}

// keyed are methods that return a frame with the same columns, and use those that they are given by name: by place and
// by keyword. Without a name they use all.
var keyed = map[string]struct {
	place   int
	keyword string
}{
	"set_index": {0, "keys"}, "sort_values": {0, "by"}, "explode": {0, "column"}, "nlargest": {1, "columns"},
	"nsmallest": {1, "columns"}, "dropna": {99, "subset"}, "drop_duplicates": {0, "subset"}, "drop": {99, "columns"},
}

// method goes through a method of a frame.
func (x *step) method(name string, call *syntax.Call) syntax.Expr {
	r := read{at: x.s, call: call}
	if by, ok := keyed[name]; ok {
		columns, ok := x.u.b.columnsOf(argument(call, by.place, by.keyword))
		if !ok {
			return x.all()
		}
		x.u.use(columns, r)
		return x.copied(call)
	}
	switch {
	case slices.Contains(keep, name):
		return x.copied(call)
	case slices.Contains(looks, name):
		return x.look(call)
	case slices.Contains(summaries, name):
		x.u.summed = true
		return nil
	case name == "groupby":
		return x.groupBy(call)
	case name == "query":
		query, ok := text(argument(call, 0, "expr"))
		if !ok {
			return x.all()
		}
		x.u.query(query, r)
		return x.copied(call)
	case name == "fillna":
		if c, ok := argument(call, 0, "value").(*syntax.Constant); !ok || c.Kind == "None" {
			return x.all()
		}
		return x.copied(call)
	case name == "astype":
		return x.astype(call)
	case name == "merge":
		return x.merge(call)
	case name == "rename":
		return x.rename(call)
	case name == "apply":
		return x.rowwise(call)
	case name == "assign":
		return x.assign(call)
	case slices.Contains([]string{"pivot_table", "value_counts", "melt", "plot", "hist", "agg"}, name):
		return x.last(name, call)
	}
	return x.all()
}

// copied notes that a statement copies the frame with all its columns.
func (x *step) copied(call syntax.Expr) syntax.Expr {
	x.u.copies[x.s] = true
	return call
}

// query notes the columns in the text of a condition. Its other words are functions and names of the notebook.
func (u *usage) query(query string, r read) {
	for _, word := range words(query) {
		if len(u.b.values(word)) == 0 && !slices.Contains([]string{"and", "or", "not", "in", "index", "True", "False"},
			word) && (word[0] < '0' || word[0] > '9') {
			u.use([]string{word}, r)
		}
	}
}

func (x *step) astype(call *syntax.Call) syntax.Expr {
	switch types := argument(call, 0, "dtype").(type) {
	case *syntax.Dict:
		for _, key := range types.Keys {
			column, ok := text(key)
			if !ok {
				return x.all()
			}
			x.u.use([]string{column}, read{at: x.s, call: call})
		}
	case *syntax.Constant, *syntax.Name, *syntax.Attribute:
	default:
		return x.all()
	}
	return x.copied(call)
}

func (x *step) merge(call *syntax.Call) syntax.Expr {
	found := false
	for _, k := range []string{"on", "left_on", "right_on"} {
		if e := keyword(call, k); e != nil {
			columns, ok := x.u.b.columnsOf(e)
			if !ok {
				return x.all()
			}
			x.u.use(columns, read{at: x.s, call: call})
			found = true
		}
	}
	if !found {
		return x.all()
	}
	x.u.here = true
	return x.copied(call)
}

// rename goes through frame.rename(columns={"old": "new"}).
func (x *step) rename(call *syntax.Call) syntax.Expr {
	d, ok := keyword(call, "columns").(*syntax.Dict)
	if !ok || len(call.Args) > 0 {
		return x.all()
	}
	columns, ok := columnsIn(d)
	if !ok {
		return x.all()
	}
	x.u.use(columns, read{at: x.s, call: call})
	x.u.here = true
	return x.copied(call)
}

// rowwise goes into frame.apply(lambda row: …, axis=1).
func (x *step) rowwise(call *syntax.Call) syntax.Expr {
	l, ok := argument(call, 0, "func").(*syntax.Lambda)
	if !ok || !x.lambda(l) {
		return x.all()
	}
	return nil
}

// lambda follows the parameter of a lambda, which has the frame, a row or a group of it.
func (x *step) lambda(l *syntax.Lambda) bool {
	all := parameters(l.Args)
	if len(all) != 1 || l.Args.VarArg != nil || l.Args.KwArg != nil {
		return false
	}
	syntax.Walk(l.Body, func(one syntax.Node) bool {
		if n, ok := one.(*syntax.Name); ok && n.ID == all[0] && !x.u.whole {
			x.u.follow(x.s, n)
		}
		return !x.u.whole
	})
	return true
}

func (x *step) assign(call *syntax.Call) syntax.Expr {
	for _, k := range call.Keywords {
		if l, ok := k.Value.(*syntax.Lambda); ok && !x.lambda(l) {
			return x.all()
		}
		x.u.store(k.Arg, x.s)
	}
	return x.copied(call)
}

// last goes through a method that returns no frame of these columns.
func (x *step) last(name string, call *syntax.Call) syntax.Expr {
	needs := map[string][]string{"pivot_table": {"values", "index"}, "value_counts": {"subset"},
		"melt": {"id_vars", "value_vars"}, "plot": {"x", "y"}, "hist": {"column"}}[name]
	if name == "agg" {
		return x.aggregate(call)
	}
	for place, k := range needs {
		columns, ok := x.u.b.columnsOf(argument(call, place, k))
		if !ok {
			return x.all()
		}
		x.u.use(columns, read{at: x.s, call: call})
	}
	for _, k := range []string{"columns", "by", "c", "s"} {
		if columns, ok := x.u.b.columnsOf(keyword(call, k)); ok && name != "value_counts" {
			x.u.use(columns, read{at: x.s, call: call})
		}
	}
	return nil
}

func (x *step) groupBy(call *syntax.Call) syntax.Expr {
	columns, ok := x.u.b.columnsOf(argument(call, 0, "by"))
	if !ok {
		return x.all()
	}
	x.u.use(columns, read{at: x.s, call: call, group: true})
	x.group = true
	return call
}

// ofGroups goes through a method of groups.
func (x *step) ofGroups(name string, call *syntax.Call) syntax.Expr {
	switch name {
	case "size", "ngroup":
		return nil
	case "agg", "aggregate":
		return x.aggregate(call)
	case "apply":
		x.group = false
		return x.rowwise(call)
	}
	if slices.Contains(summaries, name) {
		x.u.summed = true
		return nil
	}
	return x.all()
}

// summaries are methods of frames and groups that sum up each column, and have the same result for smaller integers.
var summaries = []string{"sum", "mean", "median", "std", "var", "min", "max", "count", "describe", "quantile", "corr",
	"nunique"}

// aggregate notes the columns of agg({"column": …}) and agg(name=("column", …)).
func (x *step) aggregate(call *syntax.Call) syntax.Expr {
	if len(call.Args) == 0 && len(call.Keywords) > 0 {
		for _, k := range call.Keywords {
			pair, ok := k.Value.(*syntax.Tuple)
			if !ok || len(pair.Elts) != 2 {
				return x.all()
			}
			column, ok := text(pair.Elts[0])
			if !ok {
				return x.all()
			}
			x.u.use([]string{column}, read{at: x.s, call: call})
		}
		return nil
	}
	d, ok := argument(call, 0, "func").(*syntax.Dict)
	if !ok {
		return x.all()
	}
	for _, key := range d.Keys {
		column, ok := text(key)
		if !ok {
			return x.all()
		}
		x.u.use([]string{column}, read{at: x.s, call: call})
	}
	return nil
}

// argument goes through a function that takes the frame.
func (x *step) argument(call *syntax.Call, keyword string) syntax.Expr {
	if call == nil || spread(call) || x.group {
		return x.all()
	}
	if name, _ := x.u.b.function(call); name == "merge" {
		return x.merge(call)
	}
	if name, _, _ := x.u.b.method(call); name == "merge" {
		return x.merge(call)
	}
	if f, ok := call.Func.(*syntax.Name); ok {
		switch f.ID {
		case "len":
			return nil
		case "print", "display":
			return x.look(x.at)
		}
		return x.own(f.ID, call, keyword)
	}
	if keyword == "data" || len(call.Args) > 0 && call.Args[0] == x.at && keyword == "" {
		return x.plotted(call)
	}
	return x.all()
}

// plotted notes the columns of plotting functions, which take names of columns for the parts of a plot.
func (x *step) plotted(call *syntax.Call) syntax.Expr {
	found := false
	for _, k := range []string{"x", "y", "hue", "color", "size", "style", "row", "col", "facet_col", "facet_row"} {
		e := keyword(call, k)
		if e == nil {
			continue
		}
		columns, ok := x.u.b.columnsOf(e)
		if !ok {
			return x.all()
		}
		x.u.use(columns, read{at: x.s, call: call})
		found = found || k == "x" || k == "y"
	}
	if !found {
		return x.all()
	}
	return nil
}

// own goes into a function of the notebook.
func (x *step) own(name string, call *syntax.Call, keyword string) syntax.Expr {
	var f *syntax.FunctionDef
	for _, s := range x.u.b.n.Statements {
		if d, ok := s.Node.(*syntax.FunctionDef); ok && d.Name == name && s.Order < x.s.Order {
			f = d
		}
	}
	if f == nil || f.Args.VarArg != nil || f.Args.KwArg != nil || x.u.inside > maxDepth {
		return x.all()
	}
	parameter := keyword
	if place := slices.IndexFunc(call.Args, func(a syntax.Expr) bool { return a == x.at }); keyword == "" {
		if all := parameters(f.Args); place >= 0 && place < len(all) {
			parameter = all[place]
		}
	}
	x.u.inside++
	for _, s := range f.Body {
		x.u.within(x.s, s, parameter)
	}
	x.u.inside--
	return nil
}

// maxDepth bounds the functions that a frame is followed into.
const maxDepth = 8
