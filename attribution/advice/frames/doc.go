// Package frames finds uses of pandas that take more memory than they need: columns that are read and never used, types
// wider than their values, copies of whole frames that live at the same time.
//
// Rules look for a pattern in the source and for the memory that its statement has at the highest moment; either alone
// is no evidence. Savings come from shares: a frame's memory is divided among its columns, as the session's end has
// them.
package frames

import "ipytracer/attribution/advice/evidence"

// Rules returns the rules of this package, as one: they share what they know of the source.
func Rules() []evidence.Rule { return []evidence.Rule{find} }

// find returns the candidates of all rules, in a notebook that has pandas.
func find(n *evidence.Notebook) (found []evidence.Candidate) {
	if n.Peak == nil || n.Meter != "cpu.resident" {
		return nil
	}
	b := bookOf(n)
	if len(b.pandas) == 0 {
		return nil
	}
	for _, rule := range []func() []evidence.Candidate{
		b.columns, b.narrow, b.dummies, b.selections, b.rows, b.groups, chaining{b}.chains, joining{b}.pieces,
		merging{b}.merges,
	} {
		found = append(found, rule()...)
	}
	return found
}
