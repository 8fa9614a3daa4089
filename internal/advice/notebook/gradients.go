package notebook

import (
	"slices"
	"strings"

	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
)

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

var gradientsOff = map[string]bool{"no_grad": true, "inference_mode": true, "set_grad_enabled": true}
