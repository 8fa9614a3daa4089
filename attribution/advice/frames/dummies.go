package frames

import (
	"fmt"
	"slices"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
	wording "ipytracer/model/words"
)

// widths are types of numbers that dummies are made with, and the bytes of one.
var widths = map[string]int64{"float": 8, "int": 8, "float64": 8, "int64": 8, "float32": 4, "int32": 4, "uint32": 4,
	"uint64": 8, "int16": 2, "uint16": 2, "float16": 2}

// dummies finds columns of noughts and ones in types that are larger than a byte.
//
// The rule: name = pd.get_dummies(…, dtype=…) with a type of several bytes.
func (b *book) dummies() (found []evidence.Candidate) {
	for _, s := range b.n.Statements {
		name, value := assigned(s.Node)
		function, call := b.function(value)
		if name == "" || function != "get_dummies" || spread(call) || keyword(call, "dtype") == nil {
			continue
		}
		if c, ok := b.bytewise(s, name, call); ok {
			found = append(found, c)
		}
	}
	return found
}

func (b *book) bytewise(s *evidence.Statement, name string, call *syntax.Call) (c evidence.Candidate, ok bool) {
	dtype := keyword(call, "dtype")
	width := widths[typeName(dtype)]
	f, ok := b.frameOf(name)
	if width == 0 || !ok || is(keyword(call, "sparse"), "True") {
		return c, false
	}
	dummy := b.dummyColumns(f, call)
	if dummy <= 0 || b.isWidened(s, name) {
		return c, false
	}
	q, _ := quoted(s.Cell, "uint8")
	edits, ok := rewrite(s.Cell, instead(dtype, q))
	if !ok {
		return c, false
	}
	saves := dummy * f.rows * (width - 1)
	part := float64(saves) / float64(f.total)
	u := b.usage(s, name)
	made := by(s)
	return evidence.Candidate{
		Kind: "dummies", Cell: s.Cell, Line: s.Line, Names: []string{name}, Accuracy: model.SavesBound, Edits: edits,
		Of:      fmt.Sprint("dummies ", s.Window.ID),
		Title:   wording.DummiesWide(name, dummy, width, saves),
		Changes: []string{wording.DummiesChange()},
		Falls: func(m *evidence.Moment) int64 {
			if m.Order < s.Order {
				return 0
			}
			return share(m.Bytes(func(site *evidence.Site) bool {
				return made(site) || site.Statement != nil && u.copies[site.Statement] && inManagers(site)
			}), part)
		},
	}, true
}

// isWidened reports whether a later statement may make the noughts and ones wide again: groups, functions of other
// libraries and arithmetic do, for the whole frame at once.
func (b *book) isWidened(made *evidence.Statement, name string) (widened bool) {
	for _, s := range b.n.Statements {
		if s.Node == nil {
			return true
		}
		if _, function := s.Node.(*syntax.FunctionDef); s.Order <= made.Order && !function {
			continue
		}
		syntax.Walk(s.Node, func(node syntax.Node) bool {
			if n, ok := node.(*syntax.Name); ok && n.ID == name {
				widened = widened || !b.staysNarrow(n)
			}
			return !widened
		})
	}
	return widened
}

// bytewise are methods and attributes of frames that take no copy of another type, and narrow those that return a frame
// of the same one.
var (
	bytewise = []string{"mean", "sum", "shape", "columns", "dtypes", "info", "max", "min", "any", "all", "index"}
	narrow   = []string{"iloc", "loc", "drop", "head", "tail", "sample", "copy"}
)

// staysNarrow reports whether a use of a frame takes no copy of another type.
func (b *book) staysNarrow(n syntax.Expr) bool {
	at := syntax.Node(n)
	for range maxSteps {
		switch p := b.parents[at].(type) {
		case *syntax.ExprStmt, *syntax.Delete:
			return true
		case *syntax.Subscript:
			if _, column := text(p.Slice); column {
				return true
			}
			at = p
		case *syntax.Attribute:
			if slices.Contains(bytewise, p.Attr) {
				return true
			}
			if !slices.Contains(narrow, p.Attr) {
				return false
			}
			at = p
		case *syntax.Call:
			if isName(p.Func, "len") {
				return true
			}
			if syntax.Node(p.Func) != at {
				return false
			}
			at = p
		default:
			return false
		}
	}
	return false
}

// typeName returns the name of a type: "float64" of np.float64, "float64" and float.
func typeName(e syntax.Expr) string {
	switch t := e.(type) {
	case *syntax.Name:
		return t.ID
	case *syntax.Attribute:
		return t.Attr
	}
	name, _ := text(e)
	return name
}

// dummyColumns returns the number of columns that get_dummies made, 0 if it is not known: all but those that its frame
// had before.
func (b *book) dummyColumns(f frame, call *syntax.Call) int64 {
	all := f.v.Shape[1]
	switch data := argument(call, 0, "data").(type) {
	case *syntax.Subscript: // frame["column"], frame[["a", "b"]]
		if columns, ok := b.columnsOf(data.Slice); ok && keyword(call, "columns") == nil {
			_ = columns
			return all
		}
	case *syntax.Name:
		from, ok := b.frameOf(data.ID)
		columns, named := b.columnsOf(keyword(call, "columns"))
		if !ok {
			return 0
		}
		if named {
			return all - (from.v.Shape[1] - int64(len(columns)))
		}
		if from.v.MoreColumns > 0 {
			return 0
		}
		texts := slices.DeleteFunc(slices.Clone(from.v.Columns), func(c model.Column) bool {
			return c.DType != "object" && c.DType != "category"
		})
		return all - (from.v.Shape[1] - int64(len(texts)))
	}
	return 0
}
