// Package arrays has the rules of advice about NumPy's arrays. They are about temporaries of expressions, dtypes, and
// views. A rule compares the source with the blocks that the session recorded: it says nothing where only one of both
// shows the pattern.
package arrays

import "ipytracer/internal/advice/notebook"

// Find returns the candidates of all rules about arrays.
func Find(book *notebook.Notebook) (found []notebook.Candidate) {
	if book.Peak == nil {
		return nil
	}
	s := &finder{&values{scene: newScene(book)}, places(book, book.Peak)}
	for _, rule := range []func() []notebook.Candidate{s.temporaries, s.views, dtypeRule{s}.dtypes} {
		found = append(found, rule()...)
	}
	if s.steps > maxSteps { // nodes that were not visited could disprove a candidate
		return nil
	}
	return found
}
