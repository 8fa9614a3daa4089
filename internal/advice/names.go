package advice

import "ipytracer/internal/advice/notebook"

// maxTried bounds the names of a kind that are looked at in full. Sources are hostile, and each look goes through a
// function, or through all statements that mention the name.
const maxTried = 512

// names finds names that hold memory longer than the notebook needs it. Its rules share what they know of the source.
func names(n *notebook.Notebook) (found []notebook.Candidate) {
	if n.Peak == nil {
		return nil
	}
	l := livesOf(n)
	for _, rule := range []func(*lives) []notebook.Candidate{deletes, loops, locals} {
		found = append(found, rule(l)...)
	}
	return found
}
