package notebook

import (
	"ipytracer/model"
)

// Candidate is a change that a rule found.
type Candidate struct {
	Kind string
	// Cell and Line are those that the advice is about.
	Cell  *Cell
	Line  int
	Names []string
	// Title, Changes and Unknown are sentences of package words; see [model.AdviceItem].
	Title            string
	Changes, Unknown []string
	Accuracy         string // one of model.Saves…
	Edits            []model.AdviceEdit
	// Falls returns by how many bytes a moment would be lower, 0 for none. It may be asked for moments in any order.
	Falls func(*Moment) int64
	// Of are the names of groups of memory that the change is about. Of two candidates about the same memory the one
	// that saves more comes first, and the other one only behind all others.
	Of string
}

// Rule finds candidates in a notebook.
type Rule func(*Notebook) []Candidate

// Without returns the highest moment of the chosen stretch if each moment were lower by falls, and that height. The
// moment is nil if it is not known: one of those that are not kept.
func (n *Notebook) Without(falls func(*Moment) int64) (peak int64, at *Moment) {
	peak = n.unlisted
	for _, m := range n.highest {
		if m.Peak <= peak {
			break
		}
		if left := m.Peak - max(0, min(falls(m), m.Peak)); left > peak {
			peak, at = left, m
		}
	}
	return peak, at
}

// Least is the smallest saving that is worth advice, in bytes: a hundredth of the highest moment, and 6 MiB. The C
// library keeps smaller blocks often enough that no figure of the process changes when they are freed.
func (n *Notebook) Least() int64 {
	if n.Peak == nil {
		return leastSaving
	}
	return max(leastSaving, n.Peak.Peak/leastShare)
}

const (
	leastSaving = 6 << 20
	leastShare  = 100 // one in so many
)

// Saves returns by how much lower the highest moment would be. It is 0 if that moment itself falls by less than
// [Notebook.Least].
func (n *Notebook) Saves(falls func(*Moment) int64) int64 {
	if n.Peak == nil || falls(n.Peak) < n.Least() {
		return 0
	}
	peak, _ := n.Without(falls)
	return max(0, n.Peak.Peak-peak)
}
