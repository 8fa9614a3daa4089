package arrays

import (
	"strings"

	"ipytracer/attribution/syntax"
)

// reach has the names that code reads and binds, in functions of the notebook that it may call, too.
type reach struct {
	reads, binds map[string]bool
	dynamic      bool
}

// reachOf follows the uses of names into known functions.
func reachOf(uses *syntax.Uses, known syntax.Functions) *reach {
	r := &reach{reads: map[string]bool{}, binds: map[string]bool{}, dynamic: uses.Dynamic || uses.BindsAny}
	todo := r.add(uses.Reads, uses.Binds)
	for name, f := range known {
		if f.Loose {
			todo = append(todo, name)
		}
	}
	called := map[string]bool{}
	for len(todo) > 0 {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		f := known[name]
		if f == nil || called[name] {
			continue
		}
		called[name] = true
		r.dynamic = r.dynamic || f.Dynamic
		todo = append(todo, r.add(f.Reads, f.Binds)...)
	}
	return r
}

// add takes in uses of names, and returns the names that are read.
func (r *reach) add(reads []syntax.Use, binds []syntax.Bind) (names []string) {
	for i := range reads {
		r.reads[reads[i].Name] = true
		names = append(names, reads[i].Name)
	}
	for i := range binds {
		r.binds[binds[i].Name] = true
	}
	return names
}

// functions returns the functions that the notebook defines.
func (s *scene) functions() syntax.Functions {
	if s.defined != nil {
		return s.defined
	}
	s.defined = syntax.Functions{}
	s.bodies = map[string][]syntax.Node{}
	for _, c := range s.n.Cells {
		if c.Tree == nil || !s.step() {
			continue
		}
		s.defined.Add(syntax.Names(c.Tree.Body...).Functions)
		s.walk(c.Tree, func(node syntax.Node) bool {
			switch x := node.(type) {
			case *syntax.FunctionDef:
				s.bodies[x.Name] = append(s.bodies[x.Name], x)
			case *syntax.ClassDef:
				s.bodies[x.Name] = append(s.bodies[x.Name], x)
			}
			return true
		})
	}
	return s.defined
}

// draws reports whether code, or a function that it reaches, takes numbers from a generator of a module, which all
// share.
func (s *scene) draws(node syntax.Node, of *reach) bool {
	if s.drawsItself(node) {
		return true
	}
	for name := range of.reads {
		for _, body := range s.bodies[name] {
			if s.drawsItself(body) {
				return true
			}
		}
	}
	return false
}

// own are functions of numpy.random that make a generator.
var own = set("default_rng", "RandomState", "Generator", "SeedSequence", "PCG64", "MT19937", "Philox", "SFC64")

func (s *scene) drawsItself(node syntax.Node) (found bool) {
	s.walk(node, func(node syntax.Node) bool {
		call, ok := node.(*syntax.Call)
		if !ok {
			return !found
		}
		name := s.full(call.Func)
		last := lastPart(name)
		module := strings.TrimSuffix(name, "."+last)
		found = found || (module == "numpy.random" || module == "random") && !own[last] ||
			module == "torch" && strings.HasPrefix(last, "rand")
		return !found
	})
	return found
}
