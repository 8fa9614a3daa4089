package tensors

import (
	"strings"

	"ipytracer/internal/advice/evidence"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// optimizers are PyTorch's that have the argument foreach.
var optimizers = map[string]bool{"Adam": true, "AdamW": true, "SGD": true, "Adadelta": true, "Adagrad": true,
	"Adamax": true, "NAdam": true, "RAdam": true, "RMSprop": true, "Rprop": true, "ASGD": true}

// making is a statement that makes an optimizer.
type making struct {
	at   spot
	call *syntax.Call
	name string
}

func makings(n *evidence.Notebook) (all []making) {
	each(n, func(p spot) bool {
		s, ok := p.stmt.(*syntax.Assign)
		if !ok || len(s.Targets) != 1 {
			return true
		}
		call, ok := s.Value.(*syntax.Call)
		if ok && optimizers[attribute(call)] {
			all = append(all, making{p, call, strings.Join(targets(s), ", ")})
		}
		return true
	})
	return all
}

// copies finds optimizers that make temporary copies of all parameters at once, where these are at the peak.
func copies(n *evidence.Notebook) (all []evidence.Candidate) {
	if n.Peak == nil {
		return nil
	}
	z := sizesOf(n)
	temporary := func(s *evidence.Site) bool { return s.OfTensors() && multi(s) }
	if sum(n.Peak, temporary) == 0 {
		return nil
	}
	found := makings(n)
	if len(found) != 1 { // which one made them is not known
		return nil
	}
	k := found[0]
	edit, ok := single(k)
	if !ok {
		return nil
	}
	steps := int64(2) // blocks that the step of one parameter needs
	if keyword(k.call, "weight_decay") != nil && attribute(k.call) != "AdamW" {
		steps++
	}
	parameters := func(s *evidence.Site) bool { return s.OfTensors() && built(s) }
	one := steps * max(z.largest(temporary), z.largest(parameters))
	if words.OfGPU(n.Meter) { // where one call moved weights and biases to the GPU: the mean of both
		one *= 2
	}
	falls := func(m *evidence.Moment) int64 {
		activations := int64(0)
		if times := rounds(m, forward); times > 0 {
			for s, made := range m.Made {
				if forward(s) {
					activations += made / times
				}
			}
		}
		return max(0, sum(m, temporary)-max(one, activations))
	}
	from, _ := k.at.lines()
	line := from
	if f := keyword(k.call, "foreach"); f != nil {
		line = f.Start.Line
	}
	return []evidence.Candidate{{Kind: "foreach", Cell: k.at.cell, Line: line, Names: []string{k.name},
		Title: words.StepCopies(k.name), Accuracy: model.SavesBound, Changes: []string{words.StepOneByOne()},
		Unknown: append([]string{words.OtherPeaksOfLoop()}, doubts(n, z, temporary)...),
		Edits:   []model.AdviceEdit{edit}, Falls: falls}}
}

// multi reports whether an optimizer made a block for many parameters at once.
func multi(s *evidence.Site) bool {
	for i := range s.Stack {
		f := &s.Stack[i]
		if strings.HasPrefix(f.Function, "_multi_tensor_") && strings.Contains(f.File, "/torch/optim/") {
			return true
		}
	}
	return false
}

// single returns the edit that has the optimizer take one parameter after another.
func single(k making) (edit model.AdviceEdit, ok bool) {
	c := k.at.cell
	if f := keyword(k.call, "foreach"); f != nil {
		return evidence.ReplacePart(c, f.Value, "False"), true
	}
	at := k.call.Place()
	if at.Start.Line != at.End.Line || keyword(k.call, "") != nil || keyword(k.call, "fused") != nil {
		return edit, false
	}
	text := strings.TrimRight(strings.TrimSuffix(c.Text(k.call), ")"), ", ")
	return evidence.ReplacePart(c, k.call, text+", foreach=False)"), true
}

// zeroed finds zero_grad() in front of the forward pass, in a PyTorch where it fills the gradients with zeros.
func zeroed(n *evidence.Notebook) (all []evidence.Candidate) {
	if n.Peak == nil || !fills(n) {
		return nil
	}
	z := sizesOf(n)
	gradient := func(s *evidence.Site) bool { return s.OfTensors() && backward(s) }
	each(n, func(p spot) bool {
		e, ok := p.stmt.(*syntax.ExprStmt)
		if !ok {
			return true
		}
		call, ok := e.Value.(*syntax.Call)
		loop, looped := p.loop()
		if !ok || !looped || attribute(call) != "zero_grad" || len(call.Args)+len(call.Keywords) > 0 ||
			!before(p) {
			return true
		}
		activation := func(s *evidence.Site) bool { return forward(s) && loop.on(s) }
		mine := func(s *evidence.Site) bool { return gradient(s) && loop.on(s) }
		from, _ := p.lines()
		all = append(all, evidence.Candidate{Kind: "set-to-none", Cell: p.cell, Line: from,
			Names: []string{syntax.Root(call.Func)}, Title: words.GradientsOfZeros(syntax.Root(call.Func)),
			Accuracy: model.SavesGuess, Changes: []string{words.NoneThen()},
			Unknown: append([]string{words.OtherPeaksOfLoop()}, doubts(n, z, mine)...),
			Edits: []model.AdviceEdit{
				evidence.ReplacePart(p.cell, call, p.cell.Text(call.Func)+"(set_to_none=True)"),
			},
			Falls: func(m *evidence.Moment) (bytes int64) {
				for s, live := range m.Live {
					if mine(s) {
						bytes += min(live, kept1(m, s))
					}
				}
				return min(bytes, sum(m, activation))
			}})
		return true
	})
	return all
}

// kept1 returns the blocks of a site that outlive the statement of a moment, or all of them behind it.
func kept1(m *evidence.Moment, s *evidence.Site) int64 {
	if m.Made[s] == 0 {
		return m.Live[s]
	}
	return m.Kept[s]
}

// before reports whether statements of the same block that follow go forward and backward.
func before(p spot) bool {
	b := p.blocks[len(p.blocks)-1]
	forwards := false
	for _, stmt := range b.stmts[b.at+1:] {
		if has(stmt, func(node syntax.Node) bool {
			call, ok := node.(*syntax.Call)
			return ok && backs(call)
		}) {
			return forwards
		}
		if _, assigns := stmt.(*syntax.Assign); assigns {
			forwards = true
		}
	}
	return false
}

// fills reports whether the session's PyTorch is older than 2.0, where zero_grad() fills gradients with zeros. The
// version is known by the line of a call that each module makes: it is above 1,400 since 2.0.
func fills(n *evidence.Notebook) bool {
	for s := range sizesOf(n) {
		for i := range s.Stack {
			f := &s.Stack[i]
			if strings.HasSuffix(f.File, "/torch/nn/modules/module.py") && strings.HasSuffix(f.Function, "_call_impl") {
				return f.Line > 0 && f.Line < 1400
			}
		}
	}
	return false
}
