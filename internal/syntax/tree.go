// Package syntax reads the source of notebook cells into Python's syntax tree. It needs no Python and runs nothing.
// Nodes have the names and the fields of CPython's module ast (3.15), so that its documentation holds here. Sources are
// hostile: every size and depth is bounded.
package syntax

import "fmt"

// Pos is a place in a source: Line from 1, Col in bytes from 0, and Offset in bytes from 0.
type Pos struct{ Line, Col, Offset int }

// Span is the place of a node: from Start up to End, which is behind the node's last byte.
type Span struct{ Start, End Pos }

// Place returns the span itself; nodes embed it.
func (s Span) Place() Span { return s }

// Node is a statement, an expression, or a part of one.
type Node interface{ Place() Span }

// Stmt is a statement.
type Stmt interface {
	Node
	stmt()
}

// Expr is an expression.
type Expr interface {
	Node
	expr()
}

// Module is the tree of one source.
type Module struct {
	Span
	Body []Stmt
}

// Statements. Magic is IPython's: a line or a cell that begins with %, ! or ?, or ends with ?.
type (
	FunctionDef struct {
		Span
		Async      bool
		Name       string
		Args       *Arguments
		Body       []Stmt
		Decorators []Expr
		Returns    Expr // nil for none
		TypeParams []Expr
	}
	ClassDef struct {
		Span
		Name       string
		Bases      []Expr
		Keywords   []*Keyword
		Body       []Stmt
		Decorators []Expr
		TypeParams []Expr
	}
	Return struct {
		Span
		Value Expr // nil for none
	}
	Delete struct {
		Span
		Targets []Expr
	}
	Assign struct {
		Span
		Targets []Expr
		Value   Expr
	}
	AugAssign struct {
		Span
		Target Expr
		Op     string // "+", "@", "//"
		Value  Expr
	}
	AnnAssign struct {
		Span
		Target, Annotation Expr
		Value              Expr // nil for none
	}
	TypeAlias struct {
		Span
		Name       Expr
		TypeParams []Expr
		Value      Expr
	}
	For struct {
		Span
		Async        bool
		Target, Iter Expr
		Body, Else   []Stmt
	}
	While struct {
		Span
		Test       Expr
		Body, Else []Stmt
	}
	If struct {
		Span
		Test       Expr
		Body, Else []Stmt // elif is an If in Else
	}
	With struct {
		Span
		Async bool
		Items []*WithItem
		Body  []Stmt
	}
	Match struct {
		Span
		Subject Expr
		Cases   []*MatchCase
	}
	Raise struct {
		Span
		Exc, Cause Expr // nil for none
	}
	Try struct {
		Span
		Star                bool // except*
		Body, Else, Finally []Stmt
		Handlers            []*ExceptHandler
	}
	Assert struct {
		Span
		Test, Msg Expr
	}
	Import struct {
		Span
		Names []*Alias
	}
	ImportFrom struct {
		Span
		Module string
		Level  int
		Names  []*Alias
	}
	Global struct {
		Span
		Names []string
	}
	Nonlocal struct {
		Span
		Names []string
	}
	ExprStmt struct {
		Span
		Value Expr
	}
	Pass     struct{ Span }
	Break    struct{ Span }
	Continue struct{ Span }
	// Magic has in Body the Python that its line runs, as %time and %timeit do; nil if it runs none.
	Magic struct {
		Span
		Text string
		Body []Stmt
	}
)

// Expressions. A chain of one operator is nested to the left, as in ast.
type (
	Name struct {
		Span
		ID string
	}
	// Constant is a literal. Kind is "int", "float", "complex", "str", "bytes", "None", "True", "False" or "...".
	// Text is the source of a number. Value is the value of a str or of bytes: several literals are joined.
	Constant struct {
		Span
		Kind, Text, Value string
	}
	// JoinedStr is an f-string or t-string; Values are the constant parts and *FormattedValue.
	JoinedStr struct {
		Span
		Values []Expr
	}
	FormattedValue struct {
		Span
		Value  Expr
		Format Expr // a *JoinedStr; nil for none
	}
	Attribute struct {
		Span
		Value Expr
		Attr  string
	}
	Subscript struct {
		Span
		Value, Slice Expr
	}
	Slice struct {
		Span
		Lower, Upper, Step Expr // nil for none
	}
	Starred struct {
		Span
		Value Expr
	}
	Call struct {
		Span
		Func     Expr
		Args     []Expr
		Keywords []*Keyword
	}
	BinOp struct {
		Span
		Left  Expr
		Op    string // "+", "@", "//", "<<"
		Right Expr
	}
	UnaryOp struct {
		Span
		Op      string // "-", "+", "~", "not"
		Operand Expr
	}
	BoolOp struct {
		Span
		Op     string // "and", "or"
		Values []Expr
	}
	Compare struct {
		Span
		Left        Expr
		Ops         []string // "<", "is not", "not in"
		Comparators []Expr
	}
	IfExp struct {
		Span
		Test, Body, Else Expr
	}
	Lambda struct {
		Span
		Args *Arguments
		Body Expr
	}
	NamedExpr struct {
		Span
		Target, Value Expr
	}
	// Tuple, List and Set are displays.
	Tuple struct {
		Span
		Elts []Expr
	}
	List struct {
		Span
		Elts []Expr
	}
	Set struct {
		Span
		Elts []Expr
	}
	// Dict has a nil key for **value.
	Dict struct {
		Span
		Keys, Values []Expr
	}
	// Comp is a comprehension. Kind is "list", "set", "dict" or "generator". Value is nil except for a dict.
	Comp struct {
		Span
		Kind       string
		Elt, Value Expr
		Generators []*Comprehension
	}
	Await struct {
		Span
		Value Expr
	}
	Yield struct {
		Span
		From  bool
		Value Expr // nil for none
	}
	// Shell is the value of an assignment in IPython's syntax, as in x = !ls or x = %magic.
	Shell struct {
		Span
		Text string
	}
)

// TypeParam is a type parameter: T, *Ts (one star), **P (two).
type TypeParam struct {
	Span
	Stars          int
	Name           string
	Bound, Default Expr // nil for none
}

// Parts.
type (
	Keyword struct {
		Span
		Arg   string // "" for **value
		Value Expr
	}
	Alias struct {
		Span
		Name, AsName string
	}
	WithItem struct {
		Span
		Context Expr
		Vars    Expr // nil for none
	}
	ExceptHandler struct {
		Span
		Type Expr   // nil for none
		Name string // "" for none
		Body []Stmt
	}
	// MatchCase has the names that its pattern binds, and the expressions in the pattern (values, classes).
	MatchCase struct {
		Span
		Binds []string
		Uses  []Expr
		Guard Expr // nil for none
		Body  []Stmt
	}
	Comprehension struct {
		Span
		Async        bool
		Target, Iter Expr
		Ifs          []Expr
	}
	Arg struct {
		Span
		Name       string
		Annotation Expr // nil for none
		Default    Expr // nil for none
	}
	// Arguments are parameters. VarArg and KwArg are nil for none.
	Arguments struct {
		Span
		PosOnly, Args, KwOnly []*Arg
		VarArg, KwArg         *Arg
	}
)

// SyntaxError says where and why a source is not Python.
type SyntaxError struct {
	Pos
	Msg string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Col+1, e.Msg)
}
