package advice

import (
	"slices"
	"strings"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// gradients finds code that calls a network and never goes backward, with gradients on: the outermost statement of
// that kind, or a function.
func gradients(n *notebook.Notebook) (all []notebook.Candidate) {
	torch, z := torchName(n), sizesOf(n)
	if n.Peak == nil || torch == "" {
		return nil
	}
	var taken []func(*notebook.Site) bool // the sites of functions that are advised about
	for _, functions := range []bool{true, false} {
		n.Spots(func(spot notebook.Spot) bool {
			_, function := spot.Stmt.(*syntax.FunctionDef)
			switch {
			case notebook.GradientsOff(spot.Stmt) || classOf(spot.Stmt):
				return false
			case trains(n, spot.Stmt) || function != functions:
				return true
			case function && (spot.Inside(classOf) || spot.Stmt.(*syntax.FunctionDef).Name == "forward"):
				return false
			}
			others, own := slices.Clone(taken), on(spot)
			mine := func(s *notebook.Site) bool {
				return own(s) && !slices.ContainsFunc(others, func(is func(*notebook.Site) bool) bool { return is(s) })
			}
			found, ok := evaluation(n, spot, z, torch, mine)
			if ok {
				all = append(all, found)
				if function {
					taken = append(taken, own)
				}
			}
			return !ok && !function
		})
	}
	return all
}

func classOf(stmt syntax.Stmt) bool {
	_, class := stmt.(*syntax.ClassDef)
	return class
}

// evaluation returns the candidate about a statement or a function, if what it makes never meets a backward pass.
func evaluation(n *notebook.Notebook, spot notebook.Spot, z sizes, torch string, mine func(*notebook.Site) bool) (
	found notebook.Candidate, ok bool) {
	graph := func(s *notebook.Site) bool { return forward(s) && mine(s) }
	network := func(s *notebook.Site) bool { return graph(s) && module(s) }
	if 2*sum(n.Peak.Live, network) < sum(n.Peak.Live, graph) || sum(n.Peak.Live, network) == 0 {
		return found, false
	}
	for s := range z {
		if mine(s) && (backward(s) || optimizer(s)) {
			return found, false
		}
	}
	function, isFunction := spot.Stmt.(*syntax.FunctionDef)
	if isFunction && syntax.Any(function, func(*syntax.Yield) bool { return true }) {
		return found, false
	}
	last := spot
	if isFunction { // what it returns, and what else it makes
		below := spot.Below()
		last = below[len(below)-1]
	}
	f := &flow{n: n, names: map[string]bool{}}
	f.made(spot.Stmt)
	if isFunction {
		f.returned(function)
	}
	if f.behind(last); f.meets {
		return found, false
	}
	from, _ := spot.Lines()
	need := needed(n, z, network)
	found = notebook.Candidate{Kind: "no-grad", Cell: spot.Cell, Line: from, Accuracy: model.SavesBound,
		Title:   words.GradientsOn(torch),
		Changes: []string{words.NoGraphThen()},
		Unknown: append([]string{words.StepsOfForward()}, doubts(n, z, network)...),
		Falls: func(moment *notebook.Moment) int64 {
			if sum(moment.Made, network) == 0 { // it does not run
				return sum(moment.Live, graph)
			}
			return max(0, sum(moment.Live, graph)-need)
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

// returned adds a name for the values that a function returns without a name.
func (f *flow) returned(function *syntax.FunctionDef) {
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
				return !ok || !leaves[syntax.LastName(call.Func)]
			})
		}
	}
}

// needed returns what a network needs without gradients, at most: the blocks of one step. A module of Sequential has
// its input and its output, other code also the input of the whole, and a convolution a copy in another order.
func needed(n *notebook.Notebook, z sizes, network func(*notebook.Site) bool) int64 {
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

// assignedNames returns the names that an assignment gives values.
func assignedNames(stmt syntax.Stmt) (names []string) {
	var all []syntax.Expr
	switch s := stmt.(type) {
	case *syntax.Assign:
		all = s.Targets
	case *syntax.AugAssign:
		all = []syntax.Expr{s.Target}
	}
	for _, t := range all {
		for name := range syntax.All[*syntax.Name](t) {
			names = append(names, strings.Clone(name.ID))
		}
	}
	return names
}

// torchName returns the name under which the notebook has PyTorch; "" if there is none.
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
