package kept

import (
	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
	"ipytracer/model/words"
)

// theirs: one part in so many of the processes' memory is working memory, which threads need as well, by a guess.
const theirs = 32

// workers finds processes of joblib that take more memory than threads would.
func workers(n *evidence.Notebook) (all []evidence.Candidate) {
	for _, s := range n.Statements {
		call := parallel(s)
		if call == nil || s.Moment == nil || s.Cell.Tree == nil {
			continue
		}
		children := childrenOf(n, s)
		if children < least {
			continue
		}
		c := candidate("workers", s.Cell, call.Place().Start.Line)
		p := patch{}
		jobs := call.Keywords[0].Value
		p.put(s.Cell, jobs, s.Cell.Text(jobs)+`, prefer="threads"`)
		var ok bool
		if c.Edits, ok = p.edits(); !ok {
			continue
		}
		c.Falls = func(m *evidence.Moment) int64 {
			if m.Order < s.Order || m.Statement == nil {
				return 0
			}
			return min(children, childrenOf(n, m.Statement)) * (theirs - 1) / theirs
		}
		c.Accuracy = model.SavesGuess
		c.Title = words.WorkersKept(children)
		c.Changes = []string{words.WorkersShare()}
		c.Unknown = []string{words.WorkersTime()}
		if sent := captured(n, s); len(sent) > 0 {
			c.Unknown = append(c.Unknown, words.WorkersCaptured(sent[0].Name, sent[0].Bytes, len(sent)-1))
		}
		all = append(all, c)
	}
	return all
}

// parallel returns the call of joblib's Parallel in a statement, if it has nothing but a number of jobs; nil if there
// is none, or if there are several.
func parallel(s *evidence.Statement) (found *syntax.Call) {
	if s.Node == nil {
		return nil
	}
	count := 0
	syntax.Walk(s.Node, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.Call); ok && isName(call.Func, "Parallel", "joblib.Parallel") {
			count++
			if len(call.Args) == 0 && len(call.Keywords) == 1 && call.Keywords[0].Arg == "n_jobs" {
				found = call
			}
		}
		return true
	})
	if count != 1 {
		return nil
	}
	return found
}

// childrenOf returns the least memory that children had at the highest moment of a statement: both together had more
// than the process alone ever.
func childrenOf(n *evidence.Notebook, s *evidence.Statement) int64 {
	together, has := s.Window.Tree[n.Meter]
	if !has {
		return 0
	}
	return max(0, together.Peak-s.Window.Meters[n.Meter].Peak)
}
