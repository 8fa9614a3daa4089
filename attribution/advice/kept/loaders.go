package kept

import (
	"slices"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
	"ipytracer/model/words"
)

// loading finds worker processes of PyTorch's DataLoader. Each has the batch that it makes, with what it makes it of;
// without workers the kernel has that once.
func loading(n *evidence.Notebook) []evidence.Candidate {
	if n.Peak == nil || n.Peak.Statement == nil || n.Meter != "cpu.resident" || !isRead(n, 0) {
		return nil
	}
	bytes, alive := childrenOf(n, n.Peak.Statement), forks(n, n.Peak.Statement)
	have := atOnce(alive)
	calls := loaders(n)
	if bytes < least || have < 1 || len(calls) == 0 || len(makers(n)) > 0 || needsWorkers(n) {
		return nil
	}
	p := patch{}
	for _, l := range calls {
		if !l.alone(p) {
			return nil
		}
	}
	first := calls[0]
	c := candidate("loader", first.cell, first.call.Place().Start.Line)
	var ok bool
	if c.Edits, ok = p.edits(); !ok {
		return nil
	}
	c.Falls = func(m *evidence.Moment) int64 {
		if m.Statement == nil {
			return 0
		}
		own := int64(0)
		all := forks(n, m.Statement)
		for _, f := range all {
			own = max(own, f.private)
		}
		if len(all) == 0 {
			return 0
		}
		return max(0, childrenOf(n, m.Statement)-own)
	}
	c.Accuracy = model.SavesGuess
	c.Title = words.LoadersKept(have, bytes)
	c.Changes = []string{words.LoadersWait(), words.LoadersDraw()}
	c.Unknown = []string{words.LoadersAhead()}
	return []evidence.Candidate{c}
}

// loader is a call of DataLoader with worker processes.
type loader struct {
	cell *evidence.Cell
	call *syntax.Call
}

// loaders returns the calls of DataLoader that may start worker processes.
func loaders(n *evidence.Notebook) (all []loader) {
	each(n, 0, func(c *evidence.Cell, node syntax.Node) {
		call, ok := node.(*syntax.Call)
		if !ok || name(call.Func) != "DataLoader" {
			return
		}
		for _, k := range call.Keywords {
			if number, ok := k.Value.(*syntax.Constant); k.Arg == "num_workers" && (!ok || number.Text != "0") {
				all = append(all, loader{c, call})
			}
		}
	})
	return all
}

// plain are the arguments of DataLoader that mean the same without workers.
var plain = []string{"dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "collate_fn", "pin_memory",
	"drop_last", "generator"}

// alone changes a call to one without workers; false if an argument may be for them.
func (l loader) alone(p patch) bool {
	const positional = 5 // those in front of num_workers
	if len(l.call.Args) == 0 || len(l.call.Args) > positional {
		return false // prefetch_factor might be the first argument, with no comma in front of it
	}
	behind := l.call.Args[len(l.call.Args)-1].Place().End
	for _, arg := range l.call.Args {
		if _, ok := arg.(*syntax.Starred); ok || arg.Place().Start.Offset > l.call.Keywords[0].Start.Offset {
			return false
		}
	}
	for _, k := range l.call.Keywords {
		switch {
		case k.Arg == "num_workers":
			p.put(l.cell, k.Value, "0")
		case k.Arg == "prefetch_factor" || k.Arg == "persistent_workers":
			p[l.cell] = append(p[l.cell], change{behind, k.End, ""})
		case !slices.Contains(plain, k.Arg):
			return false
		}
		behind = k.End
	}
	return true
}

// needsWorkers reports whether datasets may be others in the kernel than in a worker: they ask for their worker, they
// share the work by it, or they keep what they loaded.
func needsWorkers(n *evidence.Notebook) (found bool) {
	each(n, 0, func(_ *evidence.Cell, node syntax.Node) {
		switch node := node.(type) {
		case *syntax.Name:
			found = found || node.ID == "get_worker_info" || node.ID == "IterableDataset"
		case *syntax.Attribute:
			found = found || node.Attr == "get_worker_info" || node.Attr == "IterableDataset"
		case *syntax.ClassDef:
			for _, s := range node.Body {
				f, ok := s.(*syntax.FunctionDef)
				found = found || ok && f.Name != "__init__" && has(node, "__getitem__") && keeps(f)
			}
		}
	})
	return found
}

// has reports whether a class has a method.
func has(c *syntax.ClassDef, method string) bool {
	return slices.ContainsFunc(c.Body, func(s syntax.Stmt) bool {
		f, ok := s.(*syntax.FunctionDef)
		return ok && f.Name == method
	})
}

// keeps reports whether a method may change more than its own names.
func keeps(f *syntax.FunctionDef) (found bool) {
	if len(f.Decorators) > 0 {
		return true
	}
	own := map[string]bool{}
	for _, s := range f.Body {
		for _, name := range bound(s) {
			own[name] = true
		}
	}
	changes := func(e syntax.Expr) {
		_, isName := e.(*syntax.Name)
		found = found || !isName && !own[syntax.Root(e)]
	}
	syntax.Walk(f, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.Global, *syntax.Nonlocal:
			found = true
		case *syntax.Assign:
			for _, t := range node.Targets {
				if len(targets(t)) == 0 {
					changes(t)
				}
			}
		case *syntax.AugAssign:
			changes(node.Target)
		case *syntax.Call:
			if a, ok := node.Func.(*syntax.Attribute); ok && slices.Contains(collecting, a.Attr) {
				found = found || !own[syntax.Root(a.Value)]
			}
		}
		return !found
	})
	return found
}

// collecting are methods with which containers grow.
var collecting = []string{"append", "extend", "add", "update", "setdefault", "insert", "appendleft"}
