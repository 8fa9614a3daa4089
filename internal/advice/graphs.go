package advice

import (
	"slices"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// keptValue is a value of which a loop keeps one for each round, in a list or in a sum.
type keptValue struct {
	at    notebook.Spot // the statement that keeps the value
	loop  notebook.Spot
	into  string // the name of the list or the sum
	value syntax.Expr
}

// keptValues finds the statements x.append(value), x[k].append(value), x += value and x = x + value in loops.
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
		if k.into != "" && !hasNoGraph(k.value) {
			all = append(all, k)
		}
		return true
	})
	return all
}

// hasNoGraph reports whether the source shows that a value has no graph, or is no tensor.
func hasNoGraph(expr syntax.Expr) bool {
	switch v := expr.(type) {
	case *syntax.Call:
		if f, ok := v.Func.(*syntax.Attribute); ok && (f.Attr == "cpu" || f.Attr == "numpy" || f.Attr == "mean") {
			if call, ok := f.Value.(*syntax.Call); ok && graphless[syntax.LastName(call.Func)] {
				return true
			}
		}
		return graphless[syntax.LastName(v.Func)]
	case *syntax.Name, *syntax.Attribute, *syntax.Subscript, *syntax.BinOp, *syntax.UnaryOp:
		return false
	}
	return true
}

// keptGraphs finds loops that keep values with a graph, though no backward pass begins at such a value.
func keptGraphs(n *notebook.Notebook) (all []notebook.Candidate) {
	if n.Peak == nil || torchName(n) == "" {
		return nil
	}
	z := sizesOf(n)
	for _, k := range keptValues(n) {
		c, ok := k.candidate(n, z)
		if ok && !k.isDetached() && !meetsBackward(n, k.at, k.into) {
			all = append(all, c)
		}
	}
	return all
}

// sources returns the statements of the loop that compute the kept value: its own, and, backward from there, each
// assignment to a name that a later source reads.
func (k keptValue) sources() []notebook.Spot {
	names := map[string]bool{}
	addNames := func(e syntax.Node) {
		for name := range syntax.All[*syntax.Name](e) {
			names[name.ID] = true
		}
	}
	addNames(k.value)
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
					addNames(s.Value)
					blocks := append(k.at.Blocks[:i:i], notebook.Block{Stmts: b.Stmts, At: at, Owner: b.Owner})
					found = append(found, notebook.Spot{Cell: k.at.Cell, Stmt: s, Blocks: blocks})
					break
				}
			}
		}
	}
	return found
}

// isDetached reports whether the kept value has no graph because gradients are off or detach is called.
func (k keptValue) isDetached() bool {
	call, ok := k.value.(*syntax.Call)
	return k.at.Inside(notebook.GradientsOff) || ok && syntax.LastName(call.Func) == "detach"
}

// candidate returns the advice to detach the kept value: the blocks that earlier rounds left are freed then.
func (k keptValue) candidate(n *notebook.Notebook, z sizes) (found notebook.Candidate, ok bool) {
	sources := k.sources()
	ofValue := func(s *notebook.Site) bool {
		return ofForward(s) && slices.ContainsFunc(sources, func(p notebook.Spot) bool { return onLinesOf(p)(s) })
	}
	leftOver := k.leftOver(n, z, ofValue)
	if len(leftOver) == 0 {
		return found, false
	}
	falls := func(moment *notebook.Moment) (bytes int64) {
		for s, most := range leftOver {
			bytes += min(moment.Live[s], most)
		}
		return bytes
	}
	from, _ := k.at.Lines()
	return notebook.Candidate{Kind: "detach", Cell: k.at.Cell, Line: from, Names: []string{k.into},
		Title: words.GraphsKept(k.into), Accuracy: model.SavesBound,
		Changes: []string{words.DetachedThen()},
		Unknown: doubts(n, z, ofValue),
		Edits:   notebook.Replace(k.at.Cell, k.value, k.text()+".detach()"),
		Falls:   falls}, true
}

// leftOver returns the bytes that the rounds before the last one left, by site.
func (k keptValue) leftOver(n *notebook.Notebook, z sizes, ofValue siteTest) map[*notebook.Site]int64 {
	inStatement, inLoop := onLinesOf(k.at), onLinesOf(k.loop)
	bytes := map[*notebook.Site]int64{}
	for _, m := range n.Moments {
		times := rounds(m, inLoop)
		if times < 2 {
			continue
		}
		for s, net := range m.Kept {
			if !ofValue(s) || m.Count[s] < times {
				continue
			}
			lastRound := max(z[s], net/times)
			if !inStatement(s) {
				lastRound *= 2 // a name keeps its value until the next round has made the next value
			}
			if net > lastRound {
				bytes[s] += net - lastRound
			}
		}
	}
	return bytes
}

// text returns the source of the value, in brackets where a method call behind it needs them.
func (k keptValue) text() string {
	text := k.at.Cell.Text(k.value)
	switch k.value.(type) {
	case *syntax.BinOp, *syntax.UnaryOp:
		text = "(" + text + ")"
	}
	return text
}
