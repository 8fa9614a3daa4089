// Package frames finds uses of pandas that take more memory than they need: columns that are read and never used, types
// wider than their values, copies of whole frames that live at the same time.
//
// Rules look for a pattern in the source and for the memory that its statement has at the highest moment; either alone
// is no evidence. Savings come from shares: a frame's memory is divided among its columns, as the session's end has
// them.
package frames

import "ipytracer/attribution/advice/evidence"

// Rules returns the rules of this package.
func Rules() []evidence.Rule {
	return []evidence.Rule{
		rule((*book).columns), rule((*book).narrow), rule((*book).dummies), rule((*book).selections),
		rule((*book).rows), rule((*book).groups),
		rule(func(b *book) []evidence.Candidate { return chaining{b}.chains() }),
		rule(func(b *book) []evidence.Candidate { return joining{b}.pieces() }),
		rule(func(b *book) []evidence.Candidate { return merging{b}.merges() }),
	}
}

// rule returns a rule that finds something in the source of a notebook that has pandas.
func rule(find func(*book) []evidence.Candidate) evidence.Rule {
	return func(n *evidence.Notebook) []evidence.Candidate {
		if n.Peak == nil || n.Meter != "cpu.resident" {
			return nil
		}
		b := bookOf(n)
		if len(b.pandas) == 0 {
			return nil
		}
		return find(b)
	}
}
