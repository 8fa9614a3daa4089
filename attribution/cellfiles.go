package attribution

import (
	"slices"
	"sort"
	"strings"

	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// ran are the cells that a file name stands for in a process. pid is 0 if not known.
type ran struct {
	pid   int32
	cells []*window
}

// fileKey is the file name of a cell's code in a process.
type fileKey struct {
	pid  int32
	file string
}

// cellFiles finds the cells that file names stand for.
type cellFiles struct {
	stacks *stacks.Table
	byName map[fileKey][]*window
	ran    []ran // by the number of the name
}

// add records the file name of a cell that begins.
func (cf *cellFiles) add(pid int32, cell *window) {
	key := fileKey{pid, cell.file}
	cf.byName[key] = append(cf.byName[key], cell)
	cf.ran = nil
}

// cellOf returns the cell that a file name, given by its number, stands for in a window: the window's own cell, or the
// latest that began before the window's end.
func (cf *cellFiles) cellOf(w *window, pid int32, number uint32) *window {
	file := cf.stacks.Names[number]
	cells := cf.ranIn(pid, number)
	for c := w; c != nil && len(cells) > 0; c = c.parent {
		if c.kind == kindCell && c.file == file && c.process.info.PID == pid {
			return c
		}
	}
	n := len(cells)
	if !w.isOpen {
		n = sort.Search(n, func(i int) bool { return cells[i].opened > w.closed })
	}
	if n == 0 {
		return nil
	}
	return cells[n-1]
}

// ranIn returns the cells that a file name stands for. A report has few names, and looks them up again and again.
func (cf *cellFiles) ranIn(pid int32, number uint32) []*window {
	if n := len(cf.stacks.Names); len(cf.ran) < n {
		cf.ran = slices.Grow(cf.ran, n-len(cf.ran))[:n]
	}
	one := &cf.ran[number]
	if one.pid != pid {
		*one = ran{pid, cf.byName[fileKey{pid, cf.stacks.Names[number]}]}
	}
	return one.cells
}

// maxNames is the most names of cells' code that a profiler keeps, maxOfName the most cells of one: a cell that ended
// earlier may be handed out later.
const (
	maxNames  = 1 << 10
	maxOfName = 4
)

// shrink leaves of a cell that is over, and of those with the same name before it, as much as its name needs.
func (cf *cellFiles) shrink(w *window) {
	key := fileKey{w.process.info.PID, w.file}
	cells := cf.byName[key]
	i := slices.Index(cells, w)
	if i < 0 {
		return
	}
	slim := *w
	slim.detail, slim.parent, slim.statement, slim.hooks, slim.atResult, slim.birth = nil, nil, nil, nil, nil, nil
	slim.before, slim.after, slim.note = nil, nil, nil
	cells[i] = &slim
	if more := len(cells) - maxOfName; more > 0 {
		cf.byName[key] = slices.Clone(cells[more:])
	}
	cf.ran = nil
	if len(cf.byName) > maxNames {
		cf.sweep()
	}
	if len(cf.byName) > maxNames {
		cf.drop(func(string) bool { return true })
	}
}

// sweep drops the names that no stack has.
func (cf *cellFiles) sweep() {
	cf.drop(func(file string) bool { _, known := cf.stacks.NameAt[file]; return !known })
}

// drop drops names of cells that are over.
func (cf *cellFiles) drop(which func(file string) bool) {
	for key, cells := range cf.byName {
		if which(key.file) && !slices.ContainsFunc(cells, func(c *window) bool { return c.isOpen }) {
			delete(cf.byName, key)
		}
	}
	cf.ran = nil
}

// forget drops the cells that it has looked up for file names.
func (cf *cellFiles) forget() { cf.ran = nil }

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
