package notebook

import (
	"slices"
	"strconv"
	"strings"

	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Calls reports whether a function in a file is among the calls: by its name as Python has it, without classes in front
// of it, and by a part of the file's path. Each may be "" for any.
func (s *Site) Calls(file, function string) bool {
	return slices.ContainsFunc(s.Stack, func(f model.Frame) bool {
		return !f.Native && strings.Contains(f.File, file) &&
			(function == "" || f.Function == function || strings.HasSuffix(f.Function, "."+function))
	})
}

// On reports whether the calls pass some lines of a cell in a function, "" for any.
func (s *Site) On(c *Cell, function string, from, to int) bool {
	return slices.ContainsFunc(s.Stack, func(f model.Frame) bool {
		return f.Execution == c.Window.Execution && f.Line >= from && f.Line <= to &&
			(function == "" || f.Function == function || strings.HasSuffix(f.Function, "."+function))
	})
}

// OfNetwork reports whether a module of PyTorch made the blocks. The graph of a loss may hold them then, and not the
// name that has the module's result.
func (s *Site) OfNetwork() bool {
	return slices.ContainsFunc(s.Stack, func(f model.Frame) bool {
		return strings.HasSuffix(f.File, "/torch/nn/modules/module.py")
	})
}

// Innermost returns the innermost call that is in a cell; nil if there is none.
func (s *Site) Innermost() *model.Frame {
	for i := range s.Stack {
		if s.Stack[i].Execution > 0 {
			return &s.Stack[i]
		}
	}
	return nil
}

// counts reports whether blocks of a meter are a part of the judged one, and whether they lie in mapped memory, which
// counts them, too.
func (n *Notebook) counts(meter string) (counts, blocks bool) {
	if words.OfGPU(n.Meter) || n.Meter == "cpu.pinned" {
		return meter == n.Meter, true
	}
	if n.Meter != "cpu.resident" && n.Meter != mapped {
		return meter == n.Meter, true
	}
	blocks = words.LiesWithin(meter) && meter != "cpu.heap"
	return !words.OfGPU(meter) && (blocks || meter == mapped), blocks
}

// site returns the site of an allocation, always the same for the same stack; nil if there is no room.
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

// outermost returns the outermost line of a cell on a stack.
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

// OfTensors reports whether the blocks are those of PyTorch's tensors, on the CPU or on a GPU.
func (s *Site) OfTensors() bool {
	return s.Meter == "cpu.torch" || words.OfGPU(s.Meter) && strings.HasSuffix(s.Meter, ".active")
}

// GradientsOff reports whether PyTorch's gradients are off in a statement: with torch.no_grad(), or a decorator.
func GradientsOff(stmt syntax.Stmt) bool {
	var all []syntax.Expr
	switch s := stmt.(type) {
	case *syntax.With:
		for _, item := range s.Items {
			all = append(all, item.Context)
		}
	case *syntax.FunctionDef:
		all = s.Decorators
	}
	return slices.ContainsFunc(all, func(e syntax.Expr) bool {
		return syntax.Any(e, func(part syntax.Expr) bool { return gradientsOff[syntax.LastName(part)] })
	})
}

var gradientsOff = Set("no_grad inference_mode set_grad_enabled")
