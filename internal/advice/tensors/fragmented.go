package tensors

import (
	"strings"

	"ipytracer/internal/advice/evidence"
	"ipytracer/internal/syntax"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// setting is the line that has PyTorch's allocator use segments that grow.
const setting = `import os; os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"`

// fragmented finds memory of PyTorch's cache that no tensor uses at the highest moment of gpu.N.reserved: between
// tensors, so that larger ones do not fit.
func fragmented(n *evidence.Notebook) (all []evidence.Candidate) {
	gpu, ok := strings.CutSuffix(n.Meter, ".reserved")
	if !ok || n.Peak == nil || len(n.Cells) == 0 || mentions(n, "PYTORCH_CUDA_ALLOC_CONF") {
		return nil
	}
	first := n.Cells[0]
	if first.Tree == nil || firstLine(first) {
		return nil
	}
	title := words.CacheInPieces()
	switch asked, idle := refused(n, gpu); {
	case asked > 0 && idle >= asked:
		title = words.CacheRefused(asked, idle)
	case asked > 0:
		return nil // more memory was wanted than lies between tensors
	}
	idle := func(m *evidence.Moment) int64 {
		w := m.Cell
		if w == nil {
			return 0
		}
		window := w.Window
		if m.Statement != nil {
			window = m.Statement.Window
		}
		active, ok := window.Together(gpu + ".active")
		if !ok {
			return 0
		}
		needs := max(active.Peak, served(window, gpu))
		return max(0, m.Peak-needs-needs/32)
	}
	return []evidence.Candidate{{Kind: "expandable-segments", Cell: first, Line: 1,
		Title: title, Accuracy: model.SavesGuess, Changes: []string{words.SegmentsGrow()},
		Unknown: []string{words.OnlyBeforeCUDA()},
		Edits:   []model.AdviceEdit{evidence.Replace(first, 1, 0, setting)}, Falls: idle}}
}

// served returns the memory that tensors have once a request that was refused in a window is served; 0 where its cache
// had too little for it.
func served(w *model.Window, gpu string) (held int64) {
	for _, r := range w.Refused {
		if r.Meter == gpu+".active" && r.Reserved-r.Held >= r.Asked {
			held = max(held, r.Held+r.Asked)
		}
	}
	return held
}

// refused returns the largest request that PyTorch refused although it held as much without a tensor in it, and how
// much that was: the largest of all if there is none; 0 without requests of which that is known.
func refused(n *evidence.Notebook, gpu string) (asked, idle int64) {
	for _, c := range n.Cells {
		for _, r := range c.Window.Refused {
			free := r.Reserved - r.Held
			if r.Meter != gpu+".active" || r.Reserved == 0 {
				continue
			}
			fits, before := free >= r.Asked, asked > 0 && idle >= asked
			if fits && !before || fits == before && r.Asked > asked {
				asked, idle = r.Asked, free
			}
		}
	}
	return asked, idle
}

// mentions reports whether a constant of the notebook has a text in it.
func mentions(n *evidence.Notebook, text string) bool {
	found := false
	each(n, func(p spot) bool {
		found = found || has(p.stmt, func(node syntax.Node) bool {
			c, ok := node.(*syntax.Constant)
			return ok && strings.Contains(c.Value, text)
		})
		return !found
	})
	return found
}
