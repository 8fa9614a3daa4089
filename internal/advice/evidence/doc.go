// Package evidence holds what a session shows about a notebook, for rules of advice: the cells with their syntax trees,
// the statements as they ran, the blocks that lived at each high moment and the calls that made them, and the variables
// of the end. A rule finds a [Candidate]; [Notebook.Without] computes from the moments how much lower the highest one
// would be.
//
// Order: each run of a statement has a number, its order, one after another over the whole session. A moment has the
// order of the statement that was running, so "later" is a comparison of orders.
package evidence
