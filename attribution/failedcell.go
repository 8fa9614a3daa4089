package attribution

import (
	"slices"
	"strings"

	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

func (cf *cellFiles) withCells(e *event.Variables) *event.Variables {
	at := slices.IndexFunc(e.Variables, func(v event.Variable) bool {
		return v.Kind == event.HeldByTraceback && len(v.Codes) > 0
	})
	if at < 0 {
		return e
	}
	in := cf.failedCell(e.PID, e.Variables[at].Codes)
	if in == "" {
		return e
	}
	of := *e
	of.Variables = slices.Clone(e.Variables)
	of.Variables[at].Name = "traceback of " + in
	return &of
}

// failedCell returns the name, for people, of the cell that a traceback came from, "" if it is not known: the outermost
// of its calls that belongs to a cell. If the cell ran several times, it is the last run that failed.
func (cf *cellFiles) failedCell(pid int32, codes []event.Code) string {
	for _, code := range codes {
		if code.Input > 0 {
			return words.In(int(code.Input))
		}
		if strings.TrimSpace(code.File) == "" {
			continue
		}
		runs := cf.byName[fileKey{pid, code.File}]
		if len(runs) == 0 {
			continue
		}
		for _, w := range slices.Backward(runs) {
			if w.status == model.Error || w.status == model.Interrupted {
				return countOf(w)
			}
		}
		return countOf(runs[len(runs)-1])
	}
	return ""
}

// countOf returns a cell's In[N], "" if it has none.
func countOf(w *window) string {
	if w.count < 0 || w.silent {
		return ""
	}
	return words.In(w.count)
}
