package advice

import (
	"slices"
	"strings"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// gradients finds code that calls a network with gradients on, though no backward pass follows: torch.no_grad() would
// save the graph. The candidates are functions, and the outermost statements outside of these functions.
func gradients(n *notebook.Notebook) []notebook.Candidate {
	torch, z := torchName(n), sizesOf(n)
	if n.Peak == nil || torch == "" {
		return nil
	}
	const functions, otherStatements = true, false
	found := evaluations(n, z, torch, functions, nil)
	var covered []siteTest
	for i := range found {
		covered = append(covered, found[i].sites)
	}
	found = append(found, evaluations(n, z, torch, otherStatements, covered)...)
	var candidates []notebook.Candidate
	for i := range found {
		candidates = append(candidates, found[i].Candidate)
	}
	return candidates
}

// evaluation is a candidate about a statement or a function that calls a network.
type evaluation struct {
	notebook.Candidate
	sites siteTest // allocated below the lines of the statement
}

// evaluations returns the candidates about functions, or about other statements. Sites that pass one of covered do not
// count.
func evaluations(n *notebook.Notebook, z sizes, torch string, functions bool, covered []siteTest) (all []evaluation) {
	n.Spots(func(spot notebook.Spot) bool {
		function, isFunction := spot.Stmt.(*syntax.FunctionDef)
		switch {
		case notebook.GradientsOff(spot.Stmt) || isClass(spot.Stmt):
			return false
		case trains(n, spot.Stmt) || isFunction != functions:
			return true
		case isFunction && (spot.Inside(isClass) || function.Name == "forward"):
			return false
		}
		onLines, earlier := onLinesOf(spot), covered
		own := func(s *notebook.Site) bool {
			return onLines(s) && !slices.ContainsFunc(earlier, func(covers siteTest) bool { return covers(s) })
		}
		found, ok := evaluate(n, spot, z, torch, own)
		if ok {
			all = append(all, evaluation{found, onLines})
			if isFunction {
				covered = append(slices.Clip(covered), onLines)
			}
		}
		visitBelow := !ok && !isFunction
		return visitBelow
	})
	return all
}

func isClass(stmt syntax.Stmt) bool {
	_, class := stmt.(*syntax.ClassDef)
	return class
}

// evaluate returns the candidate about a statement or a function, whose sites are own. ok is false where a value that
// it makes may be part of a backward pass, or where less than half of its tensors come from modules.
func evaluate(n *notebook.Notebook, spot notebook.Spot, z sizes, torch string, own siteTest) (
	found notebook.Candidate, ok bool) {
	graph := func(s *notebook.Site) bool { return ofForward(s) && own(s) }
	network := func(s *notebook.Site) bool { return graph(s) && ofModule(s) }
	networkBytes := tensorBytes(n.Peak.Live, network)
	if networkBytes == 0 || 2*networkBytes < tensorBytes(n.Peak.Live, graph) {
		return found, false
	}
	for s := range z {
		if own(s) && (ofBackward(s) || ofOptimizer(s)) {
			return found, false
		}
	}
	function, isFunction := spot.Stmt.(*syntax.FunctionDef)
	if isFunction && syntax.Any(function, func(*syntax.Yield) bool { return true }) {
		return found, false
	}
	last := spot
	if isFunction {
		below := spot.Below()
		last = below[len(below)-1]
	}
	f := &flow{n: n, names: map[string]bool{}}
	f.addMadeBy(spot.Stmt)
	if isFunction {
		f.addReturnedBy(function)
	}
	if f.followAfter(last); f.meetsBackward {
		return found, false
	}
	from, _ := spot.Lines()
	need := needed(n, z, network)
	found = notebook.Candidate{Kind: "no-grad", Cell: spot.Cell, Line: from, Accuracy: model.SavesBound,
		Title:   words.GradientsOn(torch),
		Changes: []string{words.NoGraphThen()},
		Unknown: append([]string{words.StepsOfForward()}, doubts(n, z, network)...),
		Falls: func(moment *notebook.Moment) int64 {
			if tensorBytes(moment.Made, network) == 0 { // the network does not run: all of its graph goes
				return tensorBytes(moment.Live, graph)
			}
			return max(0, tensorBytes(moment.Live, graph)-need)
		},
	}
	if isFunction {
		found.Names = []string{function.Name}
		found.Edits = spot.Above("@" + torch + ".no_grad()")
		found.Line = function.Span.Start.Line
		return found, true
	}
	found.Names = assignedNames(spot.Stmt)
	if !spot.Shown() {
		found.Edits = spot.Wrapped("with " + torch + ".no_grad():")
	}
	return found, true
}

// addReturnedBy adds the names in a return expression that reads no name with a graph yet: a value that the expression
// makes may have a graph, although no name of the function holds the value.
func (f *flow) addReturnedBy(function *syntax.FunctionDef) {
	for _, stmt := range function.Body {
		for r := range syntax.All[*syntax.Return](stmt) {
			if r.Value == nil || f.reads(r.Value) {
				continue
			}
			syntax.Walk(r.Value, func(node syntax.Node) bool {
				if name, ok := node.(*syntax.Name); ok {
					f.names[name.ID] = true
				}
				call, ok := node.(*syntax.Call)
				return !ok || !graphless[syntax.LastName(call.Func)]
			})
		}
	}
}

// needed returns the most bytes that a network needs without gradients: the blocks that live in one of its steps. In a
// Sequential these are a module's input and output. Other code also keeps the network's input, and a convolution also
// makes a copy in another order.
func needed(n *notebook.Notebook, z sizes, network siteTest) int64 {
	steps := int64(2)
	for s := range n.Peak.Live {
		sequential := s.Calls("/torch/nn/modules/container.py", "forward") &&
			!s.Calls("/torch/nn/modules/conv.py", "")
		if network(s) && !sequential && 2*z[s] >= z.largest(network) {
			steps = 3
		}
	}
	return steps * z.largest(network)
}

// assignedNames returns all names in the targets of an assignment.
func assignedNames(stmt syntax.Stmt) (names []string) {
	var targets []syntax.Expr
	switch s := stmt.(type) {
	case *syntax.Assign:
		targets = s.Targets
	case *syntax.AugAssign:
		targets = []syntax.Expr{s.Target}
	}
	for _, t := range targets {
		for name := range syntax.All[*syntax.Name](t) {
			names = append(names, strings.Clone(name.ID))
		}
	}
	return names
}

// torchName returns the name by which the notebook's first import of PyTorch binds it; "" if there is no such import.
func torchName(n *notebook.Notebook) string {
	name := ""
	n.Spots(func(spot notebook.Spot) bool {
		if s, ok := spot.Stmt.(*syntax.Import); ok && len(spot.Blocks) == 1 {
			for _, a := range s.Names {
				switch {
				case a.Name == "torch" && a.AsName != "":
					name = a.AsName
				case a.Name == "torch" || strings.HasPrefix(a.Name, "torch.") && a.AsName == "":
					name = "torch"
				}
			}
		}
		return name == "" && len(spot.Blocks) < 2
	})
	return name
}
