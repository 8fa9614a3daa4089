package tensors

import (
	"strings"

	"ipytracer/internal/advice/evidence"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// doubles finds networks of float64: model.double(), torch.set_default_dtype(torch.float64).
func doubles(n *evidence.Notebook) (all []evidence.Candidate) {
	torch := torchName(n)
	if n.Peak == nil || torch == "" {
		return nil
	}
	z := sizesOf(n)
	var edits []model.AdviceEdit
	var first spot
	made := false
	each(n, func(p spot) bool {
		if blocksOf(p.stmt) != nil {
			return true
		}
		found := halved(n, p, torch)
		if len(found) == 1 {
			edits = append(edits, found...)
		}
		if len(found) == 1 && !made && has(p.stmt, wide) {
			first, made = p, true
		}
		return true
	})
	if !made {
		return nil
	}
	half := func(s *evidence.Site) bool {
		return s.OfTensors() && (module(s) || backward(s) || optimizer(s))
	}
	if sum(n.Peak, module) == 0 {
		return nil
	}
	if len(n.Variables) == 0 { // which tensors of data are float64 is not known
		edits = nil
	}
	from, _ := first.lines()
	return []evidence.Candidate{{Kind: "float64", Cell: first.cell, Line: from, Title: words.NetworkOfDoubles(),
		Names: targets(first.stmt), Accuracy: model.SavesBound, Changes: []string{words.Float32Rounds()},
		Unknown: append([]string{words.NeedsOfFloat64()}, doubts(n, z, half)...), Edits: edits,
		Falls: func(m *evidence.Moment) int64 { return sum(m, half) / 2 }}}
}

// wide reports whether a node makes a network, or all that is made later, float64.
func wide(node syntax.Node) bool {
	call, ok := node.(*syntax.Call)
	return ok && (attribute(call) == "double" && len(call.Args) == 0 || attribute(call) == "set_default_dtype" ||
		attribute(call) == "set_default_tensor_type")
}

// halved returns the edit of one statement that makes its tensors float32: none, one, or several where a statement has
// more than one place.
func halved(n *evidence.Notebook, p spot, torch string) (edits []model.AdviceEdit) {
	c := p.cell
	syntax.Walk(p.stmt, func(node syntax.Node) bool {
		switch e := node.(type) {
		case *syntax.Call:
			name := attribute(e)
			if f, ok := e.Func.(*syntax.Attribute); ok && name == "double" && len(e.Args) == 0 {
				edits = append(edits, evidence.ReplacePart(c, e, c.Text(f.Value)+".float()"))
				return false
			}
			if (name == "from_numpy" || name == "as_tensor" || name == "tensor") && float64s(n, p) {
				edits = append(edits, evidence.ReplacePart(c, e, c.Text(e)+".float()"))
				return false
			}
		case *syntax.Attribute:
			if text := c.Text(e); text == torch+".float64" || text == torch+".double" {
				edits = append(edits, evidence.ReplacePart(c, e, torch+".float32"))
			}
		}
		return true
	})
	return edits
}

// float64s reports whether an assignment's variable is a tensor of float64 at the end.
func float64s(n *evidence.Notebook, p spot) bool {
	for _, name := range targets(p.stmt) {
		v := n.Variable(name)
		if v == nil || v.DType != "" && !strings.Contains(v.DType, "float64") {
			return false
		}
	}
	return len(targets(p.stmt)) == 1 && len(p.blocks) == 1
}
