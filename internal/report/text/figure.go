package text

import (
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// label returns the name of a window for people: In[3], an experiment's name, line 7. A cell that IPython ran without
// storing it is "(silent)", one with an unknown number "-". The result is not escaped.
func label(w model.Window) string {
	switch {
	case w.Kind == model.Experiment:
		return w.Name
	case w.Kind == model.Statement && w.Line > 0:
		return fmt.Sprintf("line %d", w.Line)
	case w.Kind == model.Statement && w.Name != "":
		return w.Name
	case w.Kind == model.Session:
		return "session"
	case w.Silent:
		return "(silent)"
	case w.ExecutionCount == nil:
		return "-"
	}
	return words.In(*w.ExecutionCount)
}

// headlines returns the meters of a table, the ranking one first, without parts of others.
func headlines(r *model.Report, by string) ([]string, error) {
	known := r.AllMeters()
	if by != "" && !slices.Contains(known, by) {
		return nil, fmt.Errorf("rank by %q: no such meter here; there are: %s", by, strings.Join(known, ", "))
	}
	ids := append([]string{by}, words.Headlines(known)...) // GPUs beside the CPU: the first meters get room
	ids = slices.DeleteFunc(ids, func(id string) bool { return !slices.Contains(known, id) })
	for _, id := range known {
		if !words.IsPart(id) {
			ids = append(ids, id)
		}
	}
	var unique []string
	for _, id := range ids {
		if !slices.Contains(unique, id) {
			unique = append(unique, id)
		}
	}
	return unique, nil
}
