package advice

import (
	"strings"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
)

// inPlaceSteps computes an elementwise expression in several lines, one operation each. All lines write into the same
// array, the target.
type inPlaceSteps struct {
	*finder
	cell         *notebook.Cell
	p            position
	np           string                 // the name of NumPy in the notebook
	target       string                 // the name of the array
	final        value                  // the result of the whole expression
	hoisted      []string               // lines in front of the others, each of which computes a number
	hoistedNames map[syntax.Expr]string // names of these numbers
	lines        []string
	hasTarget    bool  // a line has made the target
	peak         int64 // bytes of arrays at the highest moment of the lines
}

// canBeTarget reports whether an expression's result can be in the target: an elementwise operation or a new array,
// with the final dtype and shape.
func (t *inPlaceSteps) canBeTarget(expr syntax.Expr) bool {
	if _, _, ok := t.parts(expr); !ok && !t.isNew(expr, t.p) {
		return false
	}
	v := t.valueOf(expr, t.p)
	return v.sort == array && v.dtype == t.final.dtype && v.sameSize(t.final)
}

// parts returns the operands of an elementwise operation, and the name of its ufunc.
func (t *inPlaceSteps) parts(expr syntax.Expr) (operands []syntax.Expr, call string, ok bool) {
	switch x := expr.(type) {
	case *syntax.UnaryOp:
		return []syntax.Expr{x.Operand}, "negative", x.Op == "-"
	case *syntax.BinOp:
		name := map[string]string{"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "**": "power"}[x.Op]
		return []syntax.Expr{x.Left, x.Right}, name, name != ""
	case *syntax.Call:
		if name, call := t.callOfNumPy(x); call != nil && len(x.Keywords) == 0 {
			switch n := len(x.Args); {
			case unary[name] && n == 1, binary[name] && n == 2, name == "clip" && n == 3,
				(name == "round" || name == "around") && (n == 1 || n == 2):
				return x.Args, name, true
			}
		}
		object, name, _ := t.method(x)
		if object == nil || len(x.Keywords) > 0 {
			return nil, "", false
		}
		if name == "clip" && len(x.Args) == 2 || name == "round" && len(x.Args) < 2 {
			return append([]syntax.Expr{object}, x.Args...), name, true
		}
	}
	return nil, "", false
}

// build adds the lines for an expression. It reports false if no lines certainly give the same result.
func (t *inPlaceSteps) build(expr syntax.Expr) bool {
	operands, name, ok := t.parts(expr)
	if !ok {
		return t.isNew(expr, t.p) && t.makeTarget(expr)
	}
	for i, operand := range operands {
		if t.canBeTarget(operand) && (i == 0 || len(operands) == 2) {
			return t.buildOthers(operands, i) && t.build(operand) && t.apply(expr, operands, name, i)
		}
	}
	return t.makeTarget(expr)
}

// buildOthers prepares the operands other than operands[spine], which the target will hold. It hoists a number if the
// lines would change it, or if its evaluation makes arrays.
func (t *inPlaceSteps) buildOthers(operands []syntax.Expr, spine int) bool {
	for i, operand := range operands {
		if i == spine {
			continue
		}
		c, ok := t.costOf(operand, t.p)
		if !ok {
			return false
		}
		if !t.mentions(operand, t.target) && c.peak == 0 {
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

// isNumber reports whether an operand is a number or a reduction: never a view of the target.
func (t *inPlaceSteps) isNumber(expr syntax.Expr) bool {
	if call, ok := expr.(*syntax.Call); ok && t.valueOf(expr, t.p).sort != array {
		if _, name, _ := t.method(call); reductions[name] || copiers[name] {
			return true
		}
		name := t.numpyName(call.Func)
		return reductions[name] || copiers[name]
	}
	return t.valueOf(expr, t.p).sort == scalar
}

// hoist adds a line in front of all others that computes a number.
func (t *inPlaceSteps) hoist(operand syntax.Expr, c cost) bool {
	text, ok := flat(t.cell, operand)
	if !ok {
		return false
	}
	name := t.unusedName(nameFor(operand))
	t.hoisted = append(t.hoisted, name+" = "+text)
	t.peak = max(t.peak, c.peak)
	t.hoistedNames[operand] = name
	return true
}

// nameFor returns a name for the number that an expression computes: that of its method, or "scale".
func nameFor(expr syntax.Expr) string {
	if c, ok := expr.(*syntax.Call); ok {
		if a, ok := c.Func.(*syntax.Attribute); ok {
			return a.Attr
		}
	}
	return "scale"
}

// unusedName returns name, with underscores behind it until the notebook does not use it.
func (s *scene) unusedName(name string) string {
	for s.isTaken(name) {
		name += "_"
	}
	return name
}

func (s *scene) isTaken(name string) bool {
	return len(s.binds[name]) > 0 || s.modules[name] != "" || builtins[name] || s.used[name]
}

// makeTarget adds the line that makes the target, as the result of an expression.
func (t *inPlaceSteps) makeTarget(expr syntax.Expr) bool {
	v := t.valueOf(expr, t.p)
	c, ok := t.costOf(expr, t.p)
	text, flat := flat(t.cell, expr)
	if !ok || !flat || v.sort != array || v.dtype != t.final.dtype || !v.sameSize(t.final) || t.hasTarget {
		return false
	}
	t.hasTarget = true
	t.peak = max(t.peak, c.peak)
	t.lines = append(t.lines, t.target+" = "+text)
	return true
}

// apply adds the line that applies an operation to the target. The target stands for operands[spine].
func (t *inPlaceSteps) apply(expr syntax.Expr, operands []syntax.Expr, name string, spine int) bool {
	texts := make([]string, len(operands))
	for i, operand := range operands {
		if i == spine {
			texts[i] = t.target
			continue
		}
		c, ok := t.costOf(operand, t.p)
		if hoisted := t.hoistedNames[operand]; hoisted != "" {
			texts[i] = hoisted
		} else if texts[i], ok = t.operand(operand, ok); !ok {
			return false
		} else {
			t.peak = max(t.peak, t.final.bytes+c.peak)
		}
	}
	t.peak = max(t.peak, t.final.bytes)
	t.lines = append(t.lines, t.line(expr, texts, name, spine))
	return true
}

// operand returns the source of an operand; false where earlier lines may have changed its value.
func (t *inPlaceSteps) operand(expr syntax.Expr, known bool) (string, bool) {
	if !known || t.hasTarget && t.mentions(expr, t.target) {
		return "", false
	}
	return flat(t.cell, expr)
}

// line returns the code of an operation on the target.
func (t *inPlaceSteps) line(expr syntax.Expr, texts []string, name string, spine int) string {
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

// unshown returns a line changed such that a cell shows nothing if it ends with it: np.exp(x, out=x) becomes
// x = np.exp(x, out=x).
func unshown(line string) string {
	if at := strings.LastIndex(line, ", out="); at >= 0 {
		if name, ok := strings.CutSuffix(line[at+len(", out="):], ")"); ok {
			return name + " = " + line
		}
	}
	return line
}

// flat returns the source of a node on one line. ok is false if strings or comments forbid to join its lines.
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
