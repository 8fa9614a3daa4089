package frames

import (
	"cmp"
	"slices"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
)

// Bounds on the search for uses.
const (
	maxNames = 64  // names that have a frame, or one made of it
	maxSteps = 256 // operations from a name to the end of an expression
)

// read is one place where a column of a frame is used.
type read struct {
	at *evidence.Statement
	// node is the expression that has the column's values; nil where the column's name is an argument.
	node syntax.Expr
	// call is the method or function that takes the name; nil for an index.
	call  *syntax.Call
	group bool // the name is a key of a groupby
	// name had the frame. foreign: the frame had columns that come from elsewhere, too.
	name    string
	foreign bool
}

// usage says how a notebook uses the columns of a frame behind the statement that made it.
type usage struct {
	b    *book
	made *evidence.Statement
	// reads has the uses by column, stores the order of the first statement that gives a column a value.
	reads  map[string][]read
	stores map[string]int
	// shown are the statements that only show the frame or its shape, copies those that make frames of all columns.
	shown  []*evidence.Statement
	copies map[*evidence.Statement]bool
	// whole: something may use every column. summed: every column is summed up, by its mean or the like.
	whole, summed bool
	names         []string
	// foreign are the names that have frames with columns from elsewhere. here is whether the one that is followed has.
	foreign map[string]bool
	here    bool
	start   string // the name that is followed
	// inside counts the functions that the frame is followed into.
	inside int
}

// usage follows a frame from the statement that gave it a name.
func (b *book) usage(made *evidence.Statement, name string) *usage {
	u := &usage{b: b, made: made, reads: map[string][]read{}, stores: map[string]int{},
		copies: map[*evidence.Statement]bool{}, names: []string{name}, foreign: map[string]bool{}}
	for i := 0; i < len(u.names) && !u.whole; i++ {
		if i == maxNames {
			u.whole = true
			break
		}
		u.uses(u.names[i])
	}
	return u
}

// uses follows all places where a name stands: in later statements, and in functions, whenever they were defined.
func (u *usage) uses(name string) {
	u.start = name
	seen := map[syntax.Node]bool{}
	for _, s := range u.b.n.Statements {
		if s.Node == nil {
			u.whole = u.whole || s.Order > u.made.Order
			continue
		}
		if seen[s.Node] && s.Order <= u.made.Order {
			continue
		}
		seen[s.Node] = true
		_, function := s.Node.(*syntax.FunctionDef)
		if s.Order <= u.made.Order && !function {
			continue
		}
		u.within(s, s.Node, name)
	}
}

// within follows the places in a node where a name stands and has the frame.
func (u *usage) within(s *evidence.Statement, node syntax.Node, name string) {
	if m, ok := node.(*syntax.Magic); ok && m.Body == nil {
		u.whole = u.whole || slices.Contains(words(m.Text), name)
		return
	}
	syntax.Walk(node, func(one syntax.Node) bool {
		if u.whole || hides(one, name) {
			return false
		}
		if n, ok := one.(*syntax.Name); ok && n.ID == name && !u.b.isTarget(n) {
			before := u.here
			u.here = u.here || u.foreign[name]
			u.follow(s, n)
			u.here = before
		}
		return true
	})
}

// hides reports whether a function has a name of its own that is the same.
func hides(node syntax.Node, name string) bool {
	switch f := node.(type) {
	case *syntax.Lambda:
		return has(f.Args, name)
	case *syntax.FunctionDef:
		if has(f.Args, name) {
			return true
		}
		own := false
		for _, s := range f.Body {
			syntax.Walk(s, func(one syntax.Node) bool {
				switch a := one.(type) {
				case *syntax.Global:
					if slices.Contains(a.Names, name) {
						own = false
						return false
					}
				case *syntax.Assign:
					for _, t := range a.Targets {
						own = own || isName(t, name)
					}
				case *syntax.For:
					own = own || isName(a.Target, name)
				}
				return true
			})
		}
		return own
	}
	return false
}

// has reports whether a name is among parameters.
func has(a *syntax.Arguments, name string) bool {
	for _, p := range parameters(a) {
		if p == name {
			return true
		}
	}
	return false
}

// parameters returns the names of positional parameters.
func parameters(a *syntax.Arguments) (all []string) {
	if a == nil {
		return nil
	}
	for _, p := range slices.Concat(a.PosOnly, a.Args, a.KwOnly) {
		all = append(all, p.Name)
	}
	return all
}

// isTarget reports whether a name stands where it is bound or deleted.
func (b *book) isTarget(n syntax.Expr) bool {
	node := syntax.Node(n)
	for range maxSteps {
		switch p := b.parents[node].(type) {
		case *syntax.Tuple, *syntax.List, *syntax.Starred:
			node = p
			continue
		case *syntax.Assign:
			return slices.ContainsFunc(p.Targets, func(t syntax.Expr) bool { return syntax.Node(t) == node })
		case *syntax.AnnAssign:
			return syntax.Node(p.Target) == node
		case *syntax.For:
			return syntax.Node(p.Target) == node
		case *syntax.Delete:
			return true
		}
		return false
	}
	return false
}

// use notes that columns are used.
func (u *usage) use(columns []string, r read) {
	r.foreign, r.name = u.here, u.start
	for _, c := range columns {
		u.reads[c] = append(u.reads[c], r)
	}
}

// store notes that a statement gives a column a value.
func (u *usage) store(column string, s *evidence.Statement) {
	if first, ok := u.stores[column]; !ok || s.Order < first {
		u.stores[column] = s.Order
	}
}

// isNew reports whether a column has its first value from a later statement: nothing read it before.
func (u *usage) isNew(column string) bool {
	first, ok := u.stores[column]
	return ok && !slices.ContainsFunc(u.reads[column], func(r read) bool { return r.at.Order <= first })
}

// used returns the columns of a frame that something uses, sorted. Those that are used only of frames with columns from
// elsewhere count if the frame has them; false if that is not known.
func (u *usage) used(f frame) (all []string, ok bool) {
	for c, reads := range u.reads {
		if u.isNew(c) {
			continue
		}
		own := slices.ContainsFunc(reads, func(r read) bool { return !r.foreign && !u.foreign[r.name] })
		switch {
		case own || f.column(c) != nil:
			all = append(all, c)
		case f.v.MoreColumns > 0:
			return nil, false
		}
	}
	slices.Sort(all)
	return all, true
}

// follow goes from an expression that has the frame outward, up to the operation that takes no frame any more.
func (u *usage) follow(s *evidence.Statement, e syntax.Expr) {
	x := &step{u: u, s: s, at: e}
	for range maxSteps {
		if u.whole {
			return
		}
		var next syntax.Expr
		switch p := u.b.parents[x.at].(type) {
		case *syntax.Subscript:
			next = x.index(p)
		case *syntax.Attribute:
			next = x.attribute(p)
		case *syntax.Call:
			next = x.argument(p, "")
		case *syntax.Keyword:
			call, _ := u.b.parents[p].(*syntax.Call)
			next = x.argument(call, cmp.Or(p.Arg, "**"))
		case *syntax.Assign:
			u.bind(p, p.Targets)
		case *syntax.AnnAssign:
			u.bind(p, []syntax.Expr{p.Target})
		case *syntax.ExprStmt:
			u.shown = append(u.shown, s)
		default:
			u.whole = true
		}
		if next == nil {
			return
		}
		x.at = next
	}
	u.whole = true
}

// bind notes that more names have the frame. Names within functions are not followed.
func (u *usage) bind(s syntax.Stmt, targets []syntax.Expr) {
	for _, t := range targets {
		n, ok := t.(*syntax.Name)
		if !ok || u.b.isLocal(s) {
			u.whole = true
			return
		}
		if u.here {
			u.foreign[n.ID] = true
		}
		if !slices.Contains(u.names, n.ID) {
			u.names = append(u.names, n.ID)
		}
	}
}

// isLocal reports whether a node is within a function or a class.
func (b *book) isLocal(node syntax.Node) bool {
	for range maxSteps {
		switch node.(type) {
		case *syntax.FunctionDef, *syntax.ClassDef, *syntax.Lambda:
			return true
		case nil:
			return false
		}
		node = b.parents[node]
	}
	return true
}
