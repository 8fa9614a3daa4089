package tensors

import (
	"strings"

	"ipytracer/internal/advice/evidence"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// retained finds backward(retain_graph=True) in a loop whose rounds have one backward pass each: the graph of a round
// then lives while the next one is made.
func retained(n *evidence.Notebook) (all []evidence.Candidate) {
	if n.Peak == nil {
		return nil
	}
	z := sizesOf(n)
	each(n, func(p spot) bool {
		e, ok := p.stmt.(*syntax.ExprStmt)
		if !ok {
			return true
		}
		call, ok := e.Value.(*syntax.Call)
		if !ok || !backs(call) {
			return true
		}
		k := keyword(call, "retain_graph")
		loop, looped := p.loop()
		if k == nil || !is(k.Value, "True") || !looped || !once(n, loop) || carries(loop) || outside(n, loop) {
			return true
		}
		graph := func(s *evidence.Site) bool { return forward(s) && loop.on(s) }
		edit, ok := withoutKeyword(p.cell, call, k)
		if !ok {
			return true
		}
		from, _ := p.lines()
		all = append(all, evidence.Candidate{Kind: "retain-graph", Cell: p.cell, Line: from,
			Title: words.GraphRetained(), Accuracy: model.SavesGuess, Changes: []string{words.GraphGoneThen()},
			Unknown: append([]string{words.BackwardNeeds()}, doubts(n, z, graph)...),
			Edits:   []model.AdviceEdit{edit}, Falls: retainedFalls(z, graph)})
		return true
	})
	return all
}

// retainedFalls returns the function that computes how much lower a moment would be. With the argument, blocks of a
// graph live twice: those of the round before, too. Without it the highest moment is in the backward pass: one graph,
// the gradients of two of its largest blocks, and those of the parameters.
func retainedFalls(z sizes, graph func(*evidence.Site) bool) func(*evidence.Moment) int64 {
	return func(m *evidence.Moment) int64 {
		times := rounds(m, graph)
		if times < 2 {
			return 0
		}
		most := z.largest(graph)
		var twice, all, back int64
		for s, live := range m.Live {
			if s.OfTensors() && built(s) {
				back += live
			}
			if !graph(s) {
				continue
			}
			all += live
			one := m.Made[s] / times
			if live >= one {
				back += one
				twice += live - one
			}
		}
		return max(0, min(twice, all-back-2*most))
	}
}

// once reports whether a loop has one call that begins a backward pass.
func once(n *evidence.Notebook, loop spot) bool {
	count := 0
	syntax.Walk(loop.stmt, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.Call); ok {
			if backs(call) {
				count++
			} else if trains(n, call.Func) {
				count += 2
			}
			if name := attribute(call); name != "" {
				for _, f := range functions(n, name) {
					if !f.inside(classOf) && trains(n, f.stmt) {
						count += 2
					}
				}
			}
		}
		return true
	})
	return count == 1
}

// carries reports whether a round may use a tensor of the one before: a name that is read before it is assigned.
func carries(loop spot) bool {
	stored, early := map[string]bool{}, map[string]bool{}
	load := func(node syntax.Node) {
		if node == nil {
			return
		}
		syntax.Walk(node, func(one syntax.Node) bool {
			if name, ok := one.(*syntax.Name); ok && !stored[name.ID] {
				early[name.ID] = true
			}
			return true
		})
	}
	carried := false
	syntax.Walk(loop.stmt, func(node syntax.Node) bool {
		switch s := node.(type) {
		case *syntax.For:
			for _, name := range names(s.Target) {
				stored[name] = true
			}
		case *syntax.Assign:
			load(s.Value)
			for _, t := range s.Targets {
				for _, name := range names(t) {
					carried = carried || early[name] && !detaches(s.Value)
					stored[name] = true
				}
			}
			return false
		case *syntax.AugAssign:
			load(s.Value)
			carried = carried || !detaches(s.Value) && !isNumber(s.Value)
			return false
		case *syntax.ExprStmt:
			load(s.Value)
			return false
		}
		return true
	})
	return carried
}

// names returns the names in a target.
func names(target syntax.Node) (all []string) {
	syntax.Walk(target, func(node syntax.Node) bool {
		if name, ok := node.(*syntax.Name); ok {
			all = append(all, name.ID)
		}
		return true
	})
	return all
}

// detaches reports whether a value leaves its graph.
func detaches(e syntax.Expr) bool {
	return has(e, func(node syntax.Node) bool {
		call, ok := node.(*syntax.Call)
		return ok && leaves[attribute(call)]
	})
}

func isNumber(e syntax.Expr) bool { return is(e, "int") || is(e, "float") }

// outside reports whether a loop uses what a network made before it: then that graph goes backward in each round.
func outside(n *evidence.Notebook, loop spot) bool {
	used := map[string]bool{}
	for _, name := range names(loop.stmt) {
		used[name] = true
	}
	b := loop.blocks[len(loop.blocks)-1]
	for _, stmt := range b.stmts[:b.at] {
		one := spot{loop.cell, stmt, loop.blocks}
		for _, t := range targets(stmt) {
			if used[t] && sum(n.Peak, func(s *evidence.Site) bool { return module(s) && one.on(s) }) > 0 {
				return true
			}
		}
	}
	return false
}

// withoutKeyword returns the edit that takes an argument out of a call on one line.
func withoutKeyword(c *evidence.Cell, call *syntax.Call, k *syntax.Keyword) (model.AdviceEdit, bool) {
	at := call.Place()
	if at.Start.Line != at.End.Line {
		return model.AdviceEdit{}, false
	}
	source, start := c.Window.Source, call.Func.Place().End.Offset
	head, tail := source[start:k.Start.Offset], source[k.End.Offset:at.End.Offset]
	if trimmed := strings.TrimRight(head, " "); strings.HasSuffix(trimmed, ",") {
		head = trimmed[:len(trimmed)-1]
	} else {
		tail = strings.TrimPrefix(strings.TrimPrefix(tail, ","), " ")
	}
	return evidence.ReplacePart(c, call, c.Text(call.Func)+head+tail), true
}
