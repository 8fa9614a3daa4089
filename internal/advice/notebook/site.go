package notebook

import (
	"slices"
	"strconv"
	"strings"

	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Calls reports whether a function is among the site's calls. file is a part of the path of its file, and function its
// name without classes; "" stands for any file, or any function.
func (s *Site) Calls(file, function string) bool {
	return slices.ContainsFunc(s.Stack, func(f model.Frame) bool {
		return !f.Native && strings.Contains(f.File, file) &&
			(function == "" || f.Function == function || strings.HasSuffix(f.Function, "."+function))
	})
}

// On reports whether one of the site's calls is in lines from to to of a cell, within a function; "" stands for any
// function.
func (s *Site) On(c *Cell, function string, from, to int) bool {
	return slices.ContainsFunc(s.Stack, func(f model.Frame) bool {
		return f.Execution == c.Window.Execution && f.Line >= from && f.Line <= to &&
			(function == "" || f.Function == function || strings.HasSuffix(f.Function, "."+function))
	})
}

// OfNetwork reports whether a module of PyTorch allocates at the site. The graph of a loss may then hold the blocks,
// instead of the name that is bound to the module's result.
func (s *Site) OfNetwork() bool {
	return slices.ContainsFunc(s.Stack, func(f model.Frame) bool {
		return strings.HasSuffix(f.File, "/torch/nn/modules/module.py")
	})
}

// Innermost returns the innermost of the site's calls that is in a cell; nil if there is none.
func (s *Site) Innermost() *model.Frame {
	for i := range s.Stack {
		if s.Stack[i].Execution > 0 {
			return &s.Stack[i]
		}
	}
	return nil
}

// counts reports whether memory of a meter is a part of the judged meter.
func (n *Notebook) counts(meter string) bool {
	if n.Meter != "cpu.resident" && n.Meter != mapped {
		return meter == n.Meter
	}
	if words.OfGPU(meter) || meter == "cpu.heap" {
		return false
	}
	return meter == mapped || words.LiesWithin(meter)
}

// site returns the site of an allocation: one site for each meter and stack. It returns nil at the bound maxSites.
func (n *Notebook) site(a *model.Allocation) *Site {
	stack := a.Stack
	if len(stack) > maxStack {
		stack = stack[len(stack)-maxStack:]
	}
	stack = n.located(stack)
	key := make([]byte, 0, 64*len(stack))
	key = append(key, a.Meter...)
	for i := range stack {
		f := &stack[i]
		key = append(append(append(append(key, 0), f.Function...), 0), f.File...)
		key = strconv.AppendInt(append(key, 0), int64(f.Line), 10)
		key = strconv.AppendInt(append(key, 0), int64(f.Execution), 10)
	}
	if s := n.sites[string(key)]; s != nil {
		return s
	}
	if len(n.sites) >= maxSites {
		n.Dropped = true
		return nil
	}
	s := &Site{Meter: a.Meter, Stack: slices.Clone(stack)}
	s.Cell, s.Statement, s.Line = n.outermost(stack)
	n.sites[string(key)] = s
	return s
}

// outermost returns the cell, the statement and the line of the outermost call of a stack that is in a cell.
func (n *Notebook) outermost(stack []model.Frame) (c *Cell, s *Statement, line int) {
	for i := len(stack) - 1; i >= 0; i-- {
		if f := &stack[i]; f.Execution > 0 {
			if c = n.CellOf(f.Execution); c != nil {
				return c, c.StatementAt(f.Line), f.Line
			}
		}
	}
	return nil, nil, 0
}

// OfTensors reports whether the site's blocks are PyTorch's tensors, on the CPU or on a GPU.
func (s *Site) OfTensors() bool {
	return s.Meter == "cpu.torch" || words.OfGPU(s.Meter) && strings.HasSuffix(s.Meter, ".active")
}

// GradientsOff reports whether a statement turns PyTorch's gradients off for its body: with torch.no_grad(), or as a
// function with such a decorator.
func GradientsOff(stmt syntax.Stmt) bool {
	var contexts []syntax.Expr
	switch s := stmt.(type) {
	case *syntax.With:
		for _, item := range s.Items {
			contexts = append(contexts, item.Context)
		}
	case *syntax.FunctionDef:
		contexts = s.Decorators
	}
	return slices.ContainsFunc(contexts, func(e syntax.Expr) bool {
		return syntax.Any(e, func(part syntax.Expr) bool { return gradientsOff[syntax.LastName(part)] })
	})
}

var gradientsOff = Set("no_grad inference_mode set_grad_enabled")
