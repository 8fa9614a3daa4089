package words

import "fmt"

// Probes are those on which windows depend.
type Probes uint8

// The probes.
const (
	StartProbes Probes = iota
	EndProbes
	ResultProbes
	StatementProbes
)

var probes = [...]string{
	StartProbes:     "cell starts",
	EndProbes:       "cell ends and prompts",
	ResultProbes:    "cell ends",
	StatementProbes: "statements",
}

// String names the probes as a certificate does.
func (p Probes) String() string { return probes[p] }

// ProblemKind is a contradiction between the windows of a process and its IPython's own counts or markers.
type ProblemKind uint8

// The kinds.
const (
	EndUnseen        ProblemKind = iota // of Count cells
	ResultUnseen                        // of Count cells
	StatementsUnseen                    // of Count cells
	WindowsUnseen                       // of the cells First to Last of a kernel, Name; Doubted missed them
	NotBegun                            // an experiment, Name, that ended
	ProblemKinds                        // their number
)

// Problem is such a contradiction, with its values.
type Problem struct {
	Kind        ProblemKind
	Doubted     Probes
	PID         int
	Count       int
	First, Last int64
	Name        string
}

// cellProblems describe the problems that count cells.
var cellProblems = [...]struct {
	one, several string
	probes       Probes
}{
	EndUnseen:    {"was not seen to end", "were not seen to end", EndProbes},
	ResultUnseen: {"was not seen to have its result", "were not seen to have their results", ResultProbes},
	StatementsUnseen: {"ran code, and no statement of it was seen", "ran code, and no statement of them was seen",
		StatementProbes},
}

// String describes the problem, and names the probes that are in doubt.
func (p Problem) String() string {
	switch p.Kind {
	case WindowsUnseen:
		return fmt.Sprintf("pid %d: IPython has %s, which no window stands for: not compiled, or not seen to begin; "+
			"the probes on %s are in doubt", p.PID, cells(p.First, p.Last, p.Name), p.Doubted)
	case NotBegun:
		return fmt.Sprintf("experiment %q ended in pid %d, but had not begun", p.Name, p.PID)
	}
	said := &cellProblems[p.Kind]
	if p.Count == 1 {
		return fmt.Sprintf("pid %d: a cell %s; the probes on %s are in doubt", p.PID, said.one, said.probes)
	}
	return fmt.Sprintf("pid %d: %d cells %s; the probes on %s are in doubt", p.PID, p.Count, said.several, said.probes)
}
