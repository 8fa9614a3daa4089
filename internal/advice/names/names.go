// Package names finds names that hold memory longer than the notebook needs it.
package names

import "ipytracer/internal/advice/evidence"

// maxTried bounds the names of a kind that are looked at in full. Sources are hostile, and each look goes through a
// function, or through all statements that mention the name.
const maxTried = 512

// Rules returns the rules of this package, as one: they share what they know of the source.
func Rules() []evidence.Rule { return []evidence.Rule{find} }

func find(n *evidence.Notebook) (found []evidence.Candidate) {
	if n.Peak == nil {
		return nil
	}
	l := livesOf(n)
	for _, rule := range []func(*lives) []evidence.Candidate{deletes, loops, locals} {
		found = append(found, rule(l)...)
	}
	return found
}
