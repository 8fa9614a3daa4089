package tensors

import (
	"strconv"
	"strings"

	"ipytracer/internal/advice/evidence"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// batch is a statement that ran with a number for the size of a batch.
type batch struct {
	s      *evidence.Statement
	size   int64
	number *syntax.Constant
	rest   string // of the call's source
}

// batchNames are the names of arguments that say how many samples go through a network at once.
var batchNames = map[string]bool{"batch_size": true, "batchsize": true, "bs": true, "chunk_size": true,
	"per_device_train_batch_size": true, "per_device_eval_batch_size": true}

// batchOf returns the size that a statement ran with, as an argument of a call.
func batchOf(s *evidence.Statement) (b batch, ok bool) {
	if s.Node == nil || s.Moment == nil {
		return b, false
	}
	count := 0
	var call *syntax.Call
	syntax.Walk(s.Node, func(node syntax.Node) bool {
		one, ok := node.(*syntax.Call)
		if !ok {
			return true
		}
		for _, k := range one.Keywords {
			if batchNames[k.Arg] && is(k.Value, "int") {
				b.number, call = k.Value.(*syntax.Constant), one
				count++
			}
		}
		return true
	})
	if count != 1 {
		return b, false
	}
	size, err := strconv.ParseInt(strings.ReplaceAll(b.number.Text, "_", ""), 10, 64)
	if err != nil || size < 1 {
		return b, false
	}
	at, from := b.number.Place(), call.Place().Start.Offset
	text := s.Cell.Text(call)
	b.s, b.size = s, size
	b.rest = text[:at.Start.Offset-from] + "#" + text[at.End.Offset-from:]
	return b, true
}

// batches finds the same call with two sizes of a batch: what each sample needs is the slope between them.
func batches(n *evidence.Notebook) (all []evidence.Candidate) {
	if n.Peak == nil || n.Peak.Statement == nil {
		return nil
	}
	high, ok := batchOf(n.Peak.Statement)
	if !ok || sum(n.Peak, module) == 0 {
		return nil
	}
	var low batch
	for _, s := range n.Statements {
		b, ok := batchOf(s)
		if ok && b.rest == high.rest && b.size < high.size && b.size > low.size {
			low = b
		}
	}
	if low.s == nil {
		return nil
	}
	then := low.s.Moment.Peak + max(0, standing(high.s.Moment)-standing(low.s.Moment))
	less := high.s.Moment.Peak - max(then, high.s.Moment.Start)
	if less <= 0 {
		return nil
	}
	return []evidence.Candidate{{Kind: "batch-size", Cell: high.s.Cell, Line: high.number.Start.Line,
		Names:    []string{"batch_size"},
		Title:    words.BatchSlope(less/(high.size-low.size), low.size, high.size),
		Accuracy: model.SavesBound, Changes: []string{words.OtherSteps()}, Unknown: []string{words.StraightLine()},
		Edits: []model.AdviceEdit{evidence.ReplacePart(high.s.Cell, high.number, strconv.FormatInt(low.size, 10))},
		Falls: func(m *evidence.Moment) int64 {
			if m.Statement != high.s {
				return 0
			}
			return less
		}}}
}

// standing returns the blocks at a moment that were there before its statement.
func standing(m *evidence.Moment) (bytes int64) {
	for s, live := range m.Live {
		if m.Made[s] == 0 && s.Meter != "cpu.mapped" {
			bytes += live
		}
	}
	return bytes
}
