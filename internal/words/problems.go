package words

import "fmt"

// Probes is a kind of the probes on which windows depend.
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
	EndUnseen        ProblemKind = iota // the ends of Count cells were not seen
	ResultUnseen                        // the results of Count cells were not seen
	StatementsUnseen                    // no statement of Count cells was seen
	WindowsUnseen                       // the cells First to Last of kernel Name have no window: Doubted missed them
	NotBegun                            // the experiment Name ended, but had not begun
	ContainerLeft                       // the process was moved to another memory cgroup
	ProblemKinds                        // the number of kinds
)

// Problem is a contradiction with the values that its kind names.
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
	case ContainerLeft:
		return fmt.Sprintf("pid %d was moved to another memory cgroup: windows with a move have no figure of the "+
			"container", p.PID)
	}
	problem := &cellProblems[p.Kind]
	if p.Count == 1 {
		return fmt.Sprintf("pid %d: a cell %s; the probes on %s are in doubt", p.PID, problem.one, problem.probes)
	}
	return fmt.Sprintf("pid %d: %d cells %s; the probes on %s are in doubt", p.PID, p.Count, problem.several,
		problem.probes)
}
