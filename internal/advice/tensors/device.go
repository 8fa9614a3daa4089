package tensors

import (
	"ipytracer/internal/advice/evidence"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// results finds results without a graph that a loop keeps on a GPU, though later code only wants them on the CPU.
func results(n *evidence.Notebook) (all []evidence.Candidate) {
	if n.Peak == nil || !words.OfGPU(n.Meter) {
		return nil
	}
	z := sizesOf(n)
	for _, k := range keepings(n) {
		if _, ok := k.at.stmt.(*syntax.ExprStmt); !ok || !k.free() || k.copied() || !landed(n, k) {
			continue
		}
		c, ok := k.candidate(n, z)
		if !ok {
			continue
		}
		c.Kind, c.Title = "to-cpu", words.ResultsOnGPU(k.into)
		c.Changes, c.Unknown = []string{words.ResultsOnCPU(k.into)}, []string{words.CopiesWait()}
		c.Edits = []model.AdviceEdit{evidence.ReplacePart(k.at.cell, k.value, k.text()+".cpu()")}
		all = append(all, c)
	}
	return all
}

// free reports whether the kept value has no graph: gradients are off, or it is detached.
func (k keeping) free() bool {
	call, ok := k.value.(*syntax.Call)
	return k.at.inside(evidence.GradientsOff) || ok && attribute(call) == "detach"
}

// copied reports whether the kept value is on the CPU.
func (k keeping) copied() bool {
	call, ok := k.value.(*syntax.Call)
	return ok && lands[attribute(call)]
}

// lands are calls whose result is on the CPU.
var lands = map[string]bool{"cpu": true, "tolist": true, "numpy": true, "item": true, "len": true}

// landed reports whether each statement behind the loop that reads the name takes the result to the CPU.
func landed(n *evidence.Notebook, k keeping) bool {
	from := k.loop.stmt.Place().End.Offset
	reads, lost := 0, 0
	each(n, func(p spot) bool {
		before := p.cell.Index < k.at.cell.Index || p.cell == k.at.cell && p.stmt.Place().Start.Offset < from
		if before {
			return true
		}
		for _, part := range ownParts(p.stmt) {
			if has(part, func(node syntax.Node) bool {
				name, ok := node.(*syntax.Name)
				return ok && name.ID == k.into
			}) {
				reads++
				if !has(part, func(node syntax.Node) bool {
					call, ok := node.(*syntax.Call)
					return ok && lands[attribute(call)]
				}) {
					lost++
				}
			}
		}
		return true
	})
	return reads > 0 && lost == 0
}

// pinned finds memory that is locked for copies to a GPU. PyTorch keeps it when its tensors are gone.
func pinned(n *evidence.Notebook) (all []evidence.Candidate) {
	if n.Peak == nil || n.Meter != "cpu.pinned" {
		return nil
	}
	each(n, func(p spot) bool {
		if blocksOf(p.stmt) != nil {
			return true
		}
		syntax.Walk(p.stmt, func(node syntax.Node) bool {
			call, ok := node.(*syntax.Call)
			if !ok {
				return true
			}
			mine := func(s *evidence.Site) bool { return p.on(s) }
			var edit model.AdviceEdit
			f, method := call.Func.(*syntax.Attribute)
			switch k := keyword(call, "pin_memory"); {
			case k != nil && is(k.Value, "True") && attribute(call) == "DataLoader":
				edit = evidence.ReplacePart(p.cell, k.Value, "False")
				mine = func(s *evidence.Site) bool { return s.Cell == nil || calls(s, "/torch/utils/data/", "") }
			case method && f.Attr == "pin_memory" && len(call.Args)+len(call.Keywords) == 0:
				edit = evidence.ReplacePart(p.cell, call, p.cell.Text(f.Value))
			default:
				return true
			}
			from, _ := p.lines()
			all = append(all, evidence.Candidate{Kind: "pinned", Cell: p.cell, Line: from, Names: targets(p.stmt),
				Title: words.PinnedStays(), Accuracy: model.SavesBound, Changes: []string{words.CopiesFromPages()},
				Edits: []model.AdviceEdit{edit}, Falls: func(m *evidence.Moment) (bytes int64) {
					for s, live := range m.Live {
						if mine(s) {
							bytes += live
						}
					}
					return bytes
				}})
			return false
		})
		return true
	})
	return all
}
