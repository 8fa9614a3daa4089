package syntax

// Generates reports whether a function is a generator or a coroutine: such a function holds its arguments until its
// body has run, which may be much later.
func Generates(f *FunctionDef) bool {
	return f.Async || Any(f, func(*Yield) bool { return true })
}

// Root returns the name that an expression begins with: x of x.y[0]; "" for other expressions.
func Root(e Expr) string {
	for {
		switch v := e.(type) {
		case *Name:
			return v.ID
		case *Attribute:
			e = v.Value
		case *Subscript:
			e = v.Value
		default:
			return ""
		}
	}
}

// Base returns the name that an expression begins with, calls included: x of x.f(1).y[0]; "" for other expressions.
func Base(e Expr) string {
	for {
		if call, ok := e.(*Call); ok {
			e = call.Func
			continue
		}
		switch v := e.(type) {
		case *Attribute:
			e = v.Value
		case *Subscript:
			e = v.Value
		default:
			return Root(e)
		}
	}
}

// IsName reports whether a node is this name.
func IsName(node Node, name string) bool {
	n, ok := node.(*Name)
	return ok && n.ID == name
}

// Text returns the source of a node.
func Text(source string, n Node) string {
	place := n.Place()
	if place.Start.Offset < 0 || place.End.Offset > len(source) || place.Start.Offset > place.End.Offset {
		return ""
	}
	return source[place.Start.Offset:place.End.Offset]
}

// Keyword returns the value of a keyword argument; nil if there is none.
func (c *Call) Keyword(name string) Expr {
	for _, k := range c.Keywords {
		if k.Arg == name {
			return k.Value
		}
	}
	return nil
}

// LastName returns the last part of a name with dots: c of a.b.c; "" for other expressions.
func LastName(e Expr) string {
	switch e := e.(type) {
	case *Name:
		return e.ID
	case *Attribute:
		return e.Attr
	}
	return ""
}

// Blocks returns the lists of statements in a compound statement; none for match.
func Blocks(stmt Stmt) [][]Stmt {
	switch s := stmt.(type) {
	case *FunctionDef:
		return [][]Stmt{s.Body}
	case *ClassDef:
		return [][]Stmt{s.Body}
	case *For:
		return [][]Stmt{s.Body, s.Else}
	case *While:
		return [][]Stmt{s.Body, s.Else}
	case *If:
		return [][]Stmt{s.Body, s.Else}
	case *With:
		return [][]Stmt{s.Body}
	case *Magic:
		return [][]Stmt{s.Body}
	case *Try:
		blocks := [][]Stmt{s.Body}
		for _, h := range s.Handlers {
			blocks = append(blocks, h.Body)
		}
		return append(blocks, s.Else, s.Finally)
	}
	return nil
}
