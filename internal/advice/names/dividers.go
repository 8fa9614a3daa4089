package names

import (
	"slices"
	"strings"

	"ipytracer/internal/advice/evidence"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// dividers finds names with a block between free memory of PyTorch's cache, at a request that PyTorch refused and that
// would have fitted there without the block.
//
// The rule: the report names the block (see [model.Divider]), and a statement that binds one name made it. The last
// statement that reads the name ran before the refused one, and nothing else holds the name's tensor. The source uses
// no streams and no pools: PyTorch gives free memory only to the stream that had it, and no recording has streams.
func dividers(l *lives) (found []evidence.Candidate) {
	gpu := l.n.Meter[:strings.LastIndexByte(l.n.Meter, '.')+1]
	if !words.OfGPU(l.n.Meter) {
		return nil
	}
	tried := 0
	for _, s := range l.n.Statements {
		for _, r := range s.Window.Refused {
			if r.Meter != gpu+"active" || !l.n.Chosen(s) {
				continue
			}
			for _, d := range r.Dividers {
				if tried++; tried > maxTried || tried == 1 && l.hasPools() {
					return found
				}
				if c, ok := l.divider(s, &r, &d); ok {
					found = append(found, c)
					break // the others are larger
				}
			}
		}
	}
	return found
}

// divider returns the candidate for one block, in front of the statement that was refused memory.
func (l *lives) divider(refused *evidence.Statement, r *model.Refusal, d *model.Divider) (evidence.Candidate, bool) {
	var none evidence.Candidate
	made := l.n.Made(d.Stack)
	if made == nil {
		return none, false
	}
	name, ok := soleName(made)
	if !ok {
		return none, false
	}
	life, ok := l.life(made, name)
	if !ok || life.last.Order >= refused.Order || life.end < refused.Order {
		return none, false
	}
	held, accuracy := l.alone(made, name, life)
	if accuracy == "" || held+largestRest < d.Bytes {
		return none, false
	}
	edits, ok := l.n.InsertInFront(refused, "del "+name)
	if !ok {
		return none, false
	}
	of := func(site *evidence.Site) bool { return site.Statement == made }
	c := evidence.Candidate{
		Kind: "divider", Cell: refused.Cell, Line: refused.Line, Names: []string{name}, Accuracy: model.SavesGuess,
		Edits: edits, Of: words.NameKey(made.Window.ID, name), Fits: r.Asked,
		Falls: func(m *evidence.Moment) int64 {
			if m.Order < refused.Order || m.Order > refused.Order && m.Order >= life.end {
				return 0
			}
			return min(held, m.Bytes(of))
		},
		Title: words.Divides(name, d.Bytes, d.Before+d.Bytes+d.After, r.Asked, evidence.PlaceOf(made, made.Line),
			evidence.PlaceOf(refused, refused.Line)),
		Changes: []string{words.NameGone(name), words.RequestServed()},
		Unknown: []string{words.StreamUnknown()},
	}
	if f, _ := refused.Window.Together(r.Meter); f.Peak > f.Start {
		c.Unknown = append(c.Unknown, words.OtherRequests())
	}
	if len(life.readers) > 0 && l.trains() {
		c.Unknown = append(c.Unknown, words.GraphMayHold(name))
	}
	if l.n.Variable(name) == nil {
		c.Unknown = append(c.Unknown, words.HoldersUnknown(name))
	}
	if len(l.blind) > 0 && slices.Max(l.blind) > life.last.Order {
		c.Unknown = append(c.Unknown, words.BlindUses(name))
	}
	return c, true
}

// largestRest is the most, in bytes, by which a block of PyTorch's cache is larger than its tensor (kSmallSize: a rest
// of no more than that is not split off).
const largestRest = 1 << 20

// soleName returns the only name that a statement binds; ok is false for other statements than assignments to it.
func soleName(s *evidence.Statement) (name string, ok bool) {
	var target syntax.Expr
	switch node := s.Node.(type) {
	case *syntax.Assign:
		if len(node.Targets) != 1 {
			return "", false
		}
		target = node.Targets[0]
	case *syntax.AnnAssign:
		target = node.Target
	}
	one, ok := target.(*syntax.Name)
	if !ok {
		return "", false
	}
	return one.ID, true
}

// hasPools reports whether the source may have PyTorch divide its cache between streams or pools, or keep large blocks
// whole.
func (l *lives) hasPools() (found bool) {
	for _, s := range l.steps {
		syntax.Walk(s.node, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Name:
				found = found || poolNames[n.ID]
			case *syntax.Attribute:
				found = found || poolNames[n.Attr]
			case *syntax.Alias:
				found = found || poolNames[n.Name]
			case *syntax.Constant:
				for _, text := range []string{"max_split_size", "backend:", "reduce-overhead", "max-autotune"} {
					found = found || strings.Contains(n.Value, text)
				}
			}
			return !found
		})
	}
	return found
}

// poolNames are names of torch.cuda and torch.nn for streams, graphs and pools.
var poolNames = map[string]bool{"Stream": true, "ExternalStream": true, "stream": true, "set_stream": true,
	"CUDAGraph": true, "graph": true, "make_graphed_callables": true, "MemPool": true, "use_mem_pool": true,
	"DataParallel": true, "DistributedDataParallel": true, "FullyShardedDataParallel": true}

// trains reports whether the source has tensors for which PyTorch may keep a graph.
func (l *lives) trains() bool {
	for _, word := range []string{"nn", "requires_grad", "requires_grad_", "Parameter", "optim"} {
		if len(l.words[word]) > 0 {
			return true
		}
	}
	return false
}
