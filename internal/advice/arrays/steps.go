package arrays

import (
	"strings"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
)

// steps are an elementwise expression as one operation after the other, each of which writes into the same array.
type steps struct {
	*finder
	c       *notebook.Cell
	p       at
	np      string // the name of NumPy in the notebook
	target  string
	final   value
	hoisted []string // lines in front: numbers that need the target as it was
	lines   []string
	begun   bool // the target holds an array of the final dtype and shape
	peak    int64
	known   map[syntax.Expr]string // names of the hoisted
}

// compound reports whether an expression is an elementwise operation whose result could be written into the target, or
// makes an array that can be the target.
func (t *steps) compound(expr syntax.Expr) bool {
	if _, _, ok := t.parts(expr); !ok && !t.isNew(expr, t.p) {
		return false
	}
	v := t.of(expr, t.p)
	return v.sort == array && v.dtype == t.final.dtype && v.sameSize(t.final)
}

// parts returns the operands of an elementwise operation, and the name of the ufunc that does it.
func (t *steps) parts(expr syntax.Expr) (operands []syntax.Expr, call string, ok bool) {
	switch x := expr.(type) {
	case *syntax.UnaryOp:
		return []syntax.Expr{x.Operand}, "negative", x.Op == "-"
	case *syntax.BinOp:
		name := map[string]string{"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "**": "power"}[x.Op]
		return []syntax.Expr{x.Left, x.Right}, name, name != ""
	case *syntax.Call:
		if name, call := t.call(x); call != nil && len(x.Keywords) == 0 {
			switch {
			case unary[name] && len(x.Args) == 1, binary[name] && len(x.Args) == 2, name == "clip" && len(x.Args) == 3,
				(name == "round" || name == "around") && (len(x.Args) == 1 || len(x.Args) == 2):
				return x.Args, name, true
			}
		}
		of, name, _ := t.method(x)
		if of == nil || len(x.Keywords) > 0 {
			return nil, "", false
		}
		if name == "clip" && len(x.Args) == 2 || name == "round" && len(x.Args) < 2 {
			return append([]syntax.Expr{of}, x.Args...), name, true
		}
	}
	return nil, "", false
}

// build adds the steps for an expression. It reports false where no steps surely give the same result.
func (t *steps) build(expr syntax.Expr) bool {
	operands, name, ok := t.parts(expr)
	if !ok {
		return t.isNew(expr, t.p) && t.begin(expr)
	}
	for i, operand := range operands {
		if t.compound(operand) && (i == 0 || len(operands) == 2) {
			return t.buildOthers(operands, i) && t.build(operand) && t.apply(expr, operands, name, i)
		}
	}
	return t.begin(expr)
}

// buildOthers prepares the operands beside the spine, which is the one that becomes the target. It computes numbers in
// front of all steps where these would change them, or where they need memory of their own.
func (t *steps) buildOthers(operands []syntax.Expr, spine int) bool {
	for i, operand := range operands {
		if i == spine {
			continue
		}
		c, ok := t.costOf(operand, t.p)
		if !ok {
			return false
		}
		if !t.mentions(operand, t.target) && c.temps == 0 {
			continue
		}
		if !t.isNumber(operand) {
			if t.mentions(operand, t.target) {
				return false
			}
			continue
		}
		if !t.hoist(operand, c) {
			return false
		}
	}
	return true
}

// isNumber reports whether an operand is a number, or a reduction along an axis: no view of the target.
func (t *steps) isNumber(expr syntax.Expr) bool {
	if call, ok := expr.(*syntax.Call); ok && t.of(expr, t.p).sort != array {
		if _, name, _ := t.method(call); reductions[name] || copying[name] {
			return true
		}
		name := t.numpy(call.Func)
		return reductions[name] || copying[name]
	}
	return t.of(expr, t.p).sort == scalar
}

// hoist computes a number in a line in front of the steps.
func (t *steps) hoist(operand syntax.Expr, c cost) bool {
	text, ok := flat(t.c, operand)
	if !ok {
		return false
	}
	name := t.free(nameFor(operand))
	t.hoisted = append(t.hoisted, name+" = "+text)
	t.peak = max(t.peak, c.temps)
	t.known[operand] = name
	return true
}

// nameFor returns a name for the number that an expression computes.
func nameFor(expr syntax.Expr) string {
	if c, ok := expr.(*syntax.Call); ok {
		if a, ok := c.Func.(*syntax.Attribute); ok {
			return a.Attr
		}
	}
	return "scale"
}

// free returns a name that the notebook does not use.
func (s *scene) free(name string) string {
	for s.isTaken(name) {
		name += "_"
	}
	return name
}

func (s *scene) isTaken(name string) bool {
	return len(s.binds[name]) > 0 || s.modules[name] != "" || builtins[name] || s.used[name]
}

// begin makes the target with one operation.
func (t *steps) begin(expr syntax.Expr) bool {
	v := t.of(expr, t.p)
	c, ok := t.costOf(expr, t.p)
	text, flat := flat(t.c, expr)
	if !ok || !flat || v.sort != array || v.dtype != t.final.dtype || !v.sameSize(t.final) || t.begun {
		return false
	}
	t.begun = true
	t.peak = max(t.peak, c.temps)
	t.lines = append(t.lines, t.target+" = "+text)
	return true
}

// apply adds the step that applies an operation to the target, which stands for one of the operands.
func (t *steps) apply(expr syntax.Expr, operands []syntax.Expr, name string, spine int) bool {
	texts := make([]string, len(operands))
	for i, operand := range operands {
		if i == spine {
			texts[i] = t.target
			continue
		}
		c, ok := t.costOf(operand, t.p)
		if hoisted := t.known[operand]; hoisted != "" {
			texts[i] = hoisted
		} else if texts[i], ok = t.operand(operand, ok); !ok {
			return false
		} else {
			t.peak = max(t.peak, t.final.bytes+c.temps)
		}
	}
	t.peak = max(t.peak, t.final.bytes)
	t.lines = append(t.lines, t.line(expr, texts, name, spine))
	return true
}

// operand returns the source of an operand; false where steps before may have changed its value.
func (t *steps) operand(expr syntax.Expr, known bool) (string, bool) {
	if !known || t.begun && t.mentions(expr, t.target) {
		return "", false
	}
	return flat(t.c, expr)
}

// line returns the code of a step.
func (t *steps) line(expr syntax.Expr, texts []string, name string, spine int) string {
	if b, ok := expr.(*syntax.BinOp); ok {
		if spine == 0 {
			return t.target + " " + b.Op + "= " + texts[1]
		}
		if b.Op == "+" || b.Op == "*" {
			return t.target + " " + b.Op + "= " + texts[0]
		}
	}
	return t.np + "." + name + "(" + strings.Join(texts, ", ") + ", out=" + t.target + ")"
}

// unshown returns the code of a step that shows nothing at the end of a cell: x = np.exp(x, out=x).
func unshown(line string) string {
	if at := strings.LastIndex(line, ", out="); at >= 0 {
		if name, ok := strings.CutSuffix(line[at+len(", out="):], ")"); ok {
			return name + " = " + line
		}
	}
	return line
}

// flat returns the source of a node on one line; ok is false where that cannot be done simply.
func flat(cell *notebook.Cell, node syntax.Node) (text string, ok bool) {
	text = cell.Text(node)
	if !strings.Contains(text, "\n") {
		return text, text != ""
	}
	if strings.ContainsAny(text, "#\"'\\") {
		return "", false
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, " "), true
}
