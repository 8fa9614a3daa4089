// Package frames finds uses of pandas that take more memory than they need: functions of rows that could be computed with
// whole columns.
//
// A rule looks for a pattern in the source and for the memory that its statement has at the highest moment; either alone
// is no evidence.
package frames

import "ipytracer/attribution/advice/evidence"

// Rules returns the rules of this package.
func Rules() []evidence.Rule { return []evidence.Rule{find} }

// find returns the candidates of all rules, in a notebook that has pandas.
func find(n *evidence.Notebook) []evidence.Candidate {
	if n.Peak == nil || n.Meter != "cpu.resident" {
		return nil
	}
	b := bookOf(n)
	if len(b.pandas) == 0 {
		return nil
	}
	return b.rows()
}
