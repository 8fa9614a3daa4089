package attribution

// A window that is open knows of every stack what it did; one that is over needs what a report can show of it. So a
// session's memory goes by what is open, not by how many windows there were.

// How many stacks a window keeps of each meter, the most at the peak first.
const (
	maxKept            = 1000
	maxKeptOfCell      = 300
	maxKeptOfStatement = 50
)

// lingering is how many windows stay open to late changes after they closed: another CPU's may come behind the
// boundary.
const (
	lingering = 16
	// maxPatient is how many wait for changes that may be lost.
	maxPatient = 1 << 12
	// maxUnsettled is how many may close at one boundary before they are settled.
	maxUnsettled = 128
)

// isNothing says whether a stack had nothing in a window, and did nothing: it came later.
func (y *tally) isNothing() bool { return y.allocated == 0 && y.freed == 0 && y.atPeak == 0 }

// keeps is how many stacks of each meter a window keeps.
func (w *window) keeps() int {
	switch w.kind {
	case kindStatement:
		return maxKeptOfStatement
	case kindCell:
		return maxKeptOfCell
	}
	return maxKept
}
