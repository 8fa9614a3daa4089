package notebook

import "ipytracer/model"

// Candidate is a change that a rule found.
type Candidate struct {
	Kind  string   // see [model.AdviceItem]
	Cell  *Cell    // the cell that the advice shows
	Line  int      // the line of Cell that the advice shows
	Names []string // names of the notebook that hold the memory
	// Title, Changes and Unknown are sentences of package words; see [model.AdviceItem].
	Title            string
	Changes, Unknown []string
	Accuracy         string // one of model.Saves…
	Edits            []model.AdviceEdit
	// Falls returns by how many bytes the change lowers a moment. Callers pass moments in any order.
	Falls func(*Moment) int64
	// Memory identifies the memory that the change frees; "" if nothing does. If two candidates free the same memory,
	// the one that saves less goes to the end of the list.
	Memory string
}

// Rule finds candidates in a notebook.
type Rule func(*Notebook) []Candidate

// Without returns the height and the moment of the peak if each moment were lower by falls. The moment is nil if the
// new peak is a moment that the notebook does not keep.
func (n *Notebook) Without(falls func(*Moment) int64) (peak int64, at *Moment) {
	peak = n.unlisted
	for _, m := range n.highest {
		if m.Peak <= peak {
			break
		}
		fall := max(0, min(falls(m), m.Peak))
		if lowered := m.Peak - fall; lowered > peak {
			peak, at = lowered, m
		}
	}
	return peak, at
}

// Least returns the smallest saving that is worth advice, in bytes: 6 MiB, or a hundredth of the highest moment if that
// is more. The C library often keeps smaller blocks for itself, so that freeing them changes no figure of the process.
func (n *Notebook) Least() int64 {
	if n.Peak == nil {
		return leastSaving
	}
	return max(leastSaving, n.Peak.Peak/leastShare)
}

const (
	leastSaving = 6 << 20
	leastShare  = 100 // divides the highest moment
)

// Saves returns by how many bytes the peak would fall if each moment were lower by falls. It returns 0 if today's
// highest moment falls by less than [Notebook.Least].
func (n *Notebook) Saves(falls func(*Moment) int64) int64 {
	if n.Peak == nil || falls(n.Peak) < n.Least() {
		return 0
	}
	peak, _ := n.Without(falls)
	return max(0, n.Peak.Peak-peak)
}
