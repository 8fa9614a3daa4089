package words

import "fmt"

// The probes on which windows depend, as a certificate names them.
const (
	StartProbes     = "cell starts"
	EndProbes       = "cell ends and prompts"
	ResultProbes    = "cell ends"
	StatementProbes = "statements"
)

// CellDoubt is a part of a cell that was not seen.
type CellDoubt uint8

// The parts.
const (
	EndUnseen CellDoubt = iota
	ResultUnseen
	StatementsUnseen
)

var cellDoubts = [...]struct{ one, several, probes string }{
	EndUnseen:    {"was not seen to end", "were not seen to end", EndProbes},
	ResultUnseen: {"was not seen to have its result", "were not seen to have their results", ResultProbes},
	StatementsUnseen: {"ran code, and no statement of it was seen", "ran code, and no statement of them was seen",
		StatementProbes},
}

// Amiss describes a problem with one or several cells of a process, and names the probes that missed them.
func Amiss(pid, n int, d CellDoubt) string {
	said := &cellDoubts[d]
	if n == 1 {
		return fmt.Sprintf("pid %d: a cell %s; the probes on %s are in doubt", pid, said.one, said.probes)
	}
	return fmt.Sprintf("pid %d: %d cells %s; the probes on %s are in doubt", pid, n, said.several, said.probes)
}
