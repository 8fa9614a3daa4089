package kept

import (
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model/words"
)

// garbage finds loops that leave objects which refer to each other, and wait for Python's collector.
func garbage(n *evidence.Notebook) (all []evidence.Candidate) {
	waits := waiting(n)
	if waits < least {
		return nil
	}
	for _, s := range loops(n) {
		loop := s.Node.(*syntax.For)
		name := madeEach(loop)
		if name == "" {
			continue
		}
		p := pileOf(s, func(site *evidence.Site) bool { return site.Statement == s && !drawn(site) })
		if p == nil || p.total-2*p.total/p.count > waits || p.total/p.count < least/4 {
			continue
		}
		edit, ok := behind(s.Cell, loop, "gc.collect()")
		if !ok {
			continue
		}
		c := candidate("collect", s.Cell, lineOf(loop, name), name)
		c.Edits = append(importing(n, s.Cell, loop.Start.Line, "gc"), edit)
		c.Falls = func(m *evidence.Moment) int64 { return p.but(n, m, 2, waits+2*p.total/p.count) }
		c.Title = words.GarbageKept(name, p.count, p.total)
		c.Changes = []string{words.Collects()}
		c.Of = name
		all = append(all, c)
	}
	return all
}

// waiting returns the bytes of objects that wait for the collector at the end of the session: what it frees beside the
// names that are deleted with the same code.
func waiting(n *evidence.Notebook) (bytes int64) {
	for _, f := range n.Report.ToFree {
		if f.PID != n.PID || !strings.Contains(f.Type, "gc.collect()") {
			continue
		}
		left := f.Predicted - f.Shared
		for _, name := range f.Names {
			if v := n.Variable(name); v != nil {
				left -= v.Bytes
			}
		}
		bytes = max(bytes, left)
	}
	return bytes
}

// madeEach returns the name that the last call of a loop's body gives a value in each pass, without a container that
// keeps the values: "" if there is none.
func madeEach(loop *syntax.For) (name string) {
	kept := false
	for _, s := range loop.Body {
		if a, ok := s.(*syntax.Assign); ok && len(a.Targets) == 1 {
			if _, is := a.Value.(*syntax.Call); is {
				if names := targets(a.Targets[0]); len(names) == 1 {
					name = names[0]
				}
			}
		}
	}
	syntax.Walk(loop, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.Call); ok {
			if a, is := call.Func.(*syntax.Attribute); is && (a.Attr == "append" || a.Attr == "add") {
				for _, arg := range call.Args {
					kept = kept || isName(arg, name)
				}
			}
		}
		return true
	})
	if kept {
		return ""
	}
	return name
}

// lineOf returns the line of the statement in a loop that binds a name.
func lineOf(loop *syntax.For, name string) int {
	for _, s := range loop.Body {
		if binds(s, name) {
			return s.Place().Start.Line
		}
	}
	return loop.Start.Line
}
