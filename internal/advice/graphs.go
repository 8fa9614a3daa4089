package advice

import (
	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
	"slices"
)

// keptValue is a statement in a loop that keeps a value of each round: in a list, or in a sum.
type keptValue struct {
	at    notebook.Spot
	loop  notebook.Spot
	into  string
	value syntax.Expr
}

// keptValues finds them: x.append(value), x[k].append(value), x += value and x = x + value.
func keptValues(n *notebook.Notebook) (all []keptValue) {
	n.Spots(func(spot notebook.Spot) bool {
		loop, looped := spot.Loop()
		if !looped {
			return true
		}
		k := keptValue{at: spot, loop: loop}
		switch s := spot.Stmt.(type) {
		case *syntax.ExprStmt:
			call, ok := s.Value.(*syntax.Call)
			if !ok || len(call.Args) != 1 || len(call.Keywords) > 0 {
				break
			}
			if f, ok := call.Func.(*syntax.Attribute); ok && f.Attr == "append" {
				k.into, k.value = syntax.Root(f.Value), call.Args[0]
			}
		case *syntax.AugAssign:
			if s.Op == "+" {
				k.into, k.value = syntax.Root(s.Target), s.Value
			}
		case *syntax.Assign:
			sum, ok := s.Value.(*syntax.BinOp)
			if !ok || len(s.Targets) != 1 || sum.Op != "+" {
				break
			}
			into, ok := s.Targets[0].(*syntax.Name)
			if left, same := sum.Left.(*syntax.Name); ok && same && left.ID == into.ID {
				k.into, k.value = into.ID, sum.Right
			}
		}
		if k.into != "" && !plain(k.value) {
			all = append(all, k)
		}
		return true
	})
	return all
}

// plain reports whether a value has no graph, or is no tensor.
func plain(expr syntax.Expr) bool {
	switch v := expr.(type) {
	case *syntax.Call:
		if f, ok := v.Func.(*syntax.Attribute); ok && (f.Attr == "cpu" || f.Attr == "numpy" || f.Attr == "mean") {
			if call, ok := f.Value.(*syntax.Call); ok && leaves[syntax.LastName(call.Func)] {
				return true
			}
		}
		return leaves[syntax.LastName(v.Func)]
	case *syntax.Name, *syntax.Attribute, *syntax.Subscript, *syntax.BinOp, *syntax.UnaryOp:
		return false
	}
	return true
}

// keptGraphs finds values with a graph that a loop keeps, though nothing goes backward from them.
func keptGraphs(n *notebook.Notebook) (all []notebook.Candidate) {
	if n.Peak == nil || torchName(n) == "" {
		return nil
	}
	z := sizesOf(n)
	for _, k := range keptValues(n) {
		c, ok := k.candidate(n, z)
		if ok && !k.free() && !meets(n, k.at, k.into) {
			all = append(all, c)
		}
	}
	return all
}

// sources are the statements of the loop that the kept value comes from: its own, and those of the names in it.
func (k keptValue) sources() []notebook.Spot {
	names := map[string]bool{}
	gather := func(e syntax.Node) {
		for name := range syntax.All[*syntax.Name](e) {
			names[name.ID] = true
		}
	}
	gather(k.value)
	delete(names, k.into)
	found := []notebook.Spot{k.at}
	for i := len(k.at.Blocks) - 1; i > len(k.loop.Blocks)-1; i-- {
		b := k.at.Blocks[i]
		for at := b.At - 1; at >= 0; at-- {
			s, ok := b.Stmts[at].(*syntax.Assign)
			if !ok {
				continue
			}
			for _, t := range assignedNames(s) {
				if names[t] {
					gather(s.Value)
					blocks := append(k.at.Blocks[:i:i], notebook.Block{Stmts: b.Stmts, At: at, Owner: b.Owner})
					found = append(found, notebook.Spot{Cell: k.at.Cell, Stmt: s, Blocks: blocks})
					break
				}
			}
		}
	}
	return found
}

// free reports whether the kept value has no graph: gradients are off, or it is detached.
func (k keptValue) free() bool {
	call, ok := k.value.(*syntax.Call)
	return k.at.Inside(notebook.GradientsOff) || ok && syntax.LastName(call.Func) == "detach"
}

// candidate returns the change: without graphs, the blocks that earlier rounds left go.
func (k keptValue) candidate(n *notebook.Notebook, z sizes) (found notebook.Candidate, ok bool) {
	sources, own := k.sources(), on(k.at)
	of := func(s *notebook.Site) bool {
		return forward(s) && slices.ContainsFunc(sources, func(p notebook.Spot) bool { return on(p)(s) })
	}
	grown := map[*notebook.Site]int64{}
	for _, m := range n.Moments {
		times := rounds(m, on(k.loop))
		if times < 2 {
			continue
		}
		for s, net := range m.Kept {
			if !of(s) || m.Count[s] < times {
				continue
			}
			last := max(z[s], net/times) // the last round's is there in any case
			if !own(s) {
				last *= 2 // a name has it until the next round has made its own
			}
			if net > last {
				grown[s] += net - last
			}
		}
	}
	if len(grown) == 0 {
		return found, false
	}
	falls := func(moment *notebook.Moment) (bytes int64) {
		for s, most := range grown {
			bytes += min(moment.Live[s], most)
		}
		return bytes
	}
	from, _ := k.at.Lines()
	return notebook.Candidate{Kind: "detach", Cell: k.at.Cell, Line: from, Names: []string{k.into},
		Title: words.GraphsKept(k.into), Accuracy: model.SavesBound,
		Changes: []string{words.DetachedThen()},
		Unknown: doubts(n, z, of),
		Edits:   notebook.Replace(k.at.Cell, k.value, k.text()+".detach()"),
		Falls:   falls}, true
}

// text returns the source of the value, so that a method can be called on it.
func (k keptValue) text() string {
	text := k.at.Cell.Text(k.value)
	switch k.value.(type) {
	case *syntax.BinOp, *syntax.UnaryOp:
		text = "(" + text + ")"
	}
	return text
}
