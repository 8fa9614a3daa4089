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
		n.Spots(func(p notebook.Spot) bool {
			_, function := p.Stmt.(*syntax.FunctionDef)
			switch {
			case notebook.GradientsOff(p.Stmt) || classOf(p.Stmt):
				return false
			case trains(n, p.Stmt) || function != functions:
				return true
			case function && (p.Inside(classOf) || p.Stmt.(*syntax.FunctionDef).Name == "forward"):
				return false
			}
			others, own := slices.Clone(taken), on(p)
			mine := func(s *notebook.Site) bool {
				return own(s) && !slices.ContainsFunc(others, func(is func(*notebook.Site) bool) bool { return is(s) })
			}
			c, ok := evaluation(n, p, z, torch, mine)
			if ok {
				all = append(all, c)
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
func evaluation(n *notebook.Notebook, p notebook.Spot, z sizes, torch string, mine func(*notebook.Site) bool) (
	c notebook.Candidate, ok bool) {
	graph := func(s *notebook.Site) bool { return forward(s) && mine(s) }
	network := func(s *notebook.Site) bool { return graph(s) && module(s) }
	if 2*sum(n.Peak, network) < sum(n.Peak, graph) || sum(n.Peak, network) == 0 {
		return c, false
	}
	for s := range z {
		if mine(s) && (backward(s) || optimizer(s)) {
			return c, false
		}
	}
	function, isFunction := p.Stmt.(*syntax.FunctionDef)
	if isFunction && syntax.Any(function, func(*syntax.Yield) bool { return true }) {
		return c, false
	}
	last := p
	if isFunction { // what it returns, and what else it makes
		below := p.Below()
		last = below[len(below)-1]
	}
	f := &flow{n: n, names: map[string]bool{}}
	f.made(p.Stmt)
	if isFunction {
		f.returned(function)
	}
	if f.behind(last); f.meets {
		return c, false
	}
	from, _ := p.Lines()
	need := needed(n, z, network)
	c = notebook.Candidate{Kind: "no-grad", Cell: p.Cell, Line: from, Accuracy: model.SavesBound,
		Title:   words.GradientsOn(torch),
		Changes: []string{words.NoGraphThen()},
		Unknown: append([]string{words.StepsOfForward()}, doubts(n, z, network)...),
		Falls: func(m *notebook.Moment) int64 {
			if allocated(m, network) == 0 { // it does not run
				return sum(m, graph)
			}
			return max(0, sum(m, graph)-need)
		},
	}
	if isFunction {
		c.Names = []string{function.Name}
		c.Edits = p.Above("@" + torch + ".no_grad()")
		c.Line = function.Span.Start.Line
		return c, true
	}
	c.Names = assignedNames(p.Stmt)
	if !p.Shown() {
		c.Edits = p.Wrapped("with " + torch + ".no_grad():")
	}
	return c, true
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
	n.Spots(func(p notebook.Spot) bool {
		if s, ok := p.Stmt.(*syntax.Import); ok && len(p.Blocks) == 1 {
			for _, a := range s.Names {
				switch {
				case a.Name == "torch" && a.AsName != "":
					name = a.AsName
				case a.Name == "torch" || strings.HasPrefix(a.Name, "torch.") && a.AsName == "":
					name = "torch"
				}
			}
		}
		return name == "" && len(p.Blocks) < 2
	})
	return name
}
