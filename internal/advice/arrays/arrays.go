// Package arrays has the rules of advice about NumPy's arrays: temporaries of expressions, dtypes, and views. A rule
// compares the source with the blocks that the session recorded: it says nothing where only one of both shows the
// pattern.
package arrays

import "ipytracer/internal/advice/notebook"

// Find returns the candidates of all rules. They share one scene.
func Find(book *notebook.Notebook) (found []notebook.Candidate) {
	if book.Peak == nil {
		return nil
	}
	s := &finder{&values{scene: newScene(book)}, places(book, book.Peak)}
	for _, rule := range []func() []notebook.Candidate{s.temporaries, s.views, typing{s}.dtypes} {
		found = append(found, rule()...)
	}
	if s.steps > maxSteps { // what was found may rest on what was not looked at
		return nil
	}
	return found
}
