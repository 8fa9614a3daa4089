package windows

import (
	"slices"
	"sort"
	"strings"

	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// ran are the cells that ran with a file name in a process. pid is 0 if cells was not looked up.
type ran struct {
	pid   int32
	cells []*Window
}

// FileKey is the file name of a cell's code in a process.
type FileKey struct {
	PID  int32
	File string
}

// CellFiles finds the cells that file names stand for.
type CellFiles struct {
	stacks *stacks.Table
	ByName map[FileKey][]*Window
	ran    []ran // cells that were looked up, by the number of the name
}

// Add records the file name of a cell that begins.
func (cf *CellFiles) Add(pid int32, cell *Window) {
	key := FileKey{pid, cell.File}
	cf.ByName[key] = append(cf.ByName[key], cell)
	cf.ran = nil
}

// CellOf returns the cell that a file name, given by its number, stands for in a window: the cell around the window, or
// else the latest cell that began before the window's end.
func (cf *CellFiles) CellOf(w *Window, pid int32, number uint32) *Window {
	file := cf.stacks.Names[number]
	cells := cf.ranIn(pid, number)
	for c := w; c != nil && len(cells) > 0; c = c.Parent {
		if c.Kind == KindCell && c.File == file && c.Process.Info.PID == pid {
			return c
		}
	}
	n := len(cells)
	if !w.IsOpen {
		n = sort.Search(n, func(i int) bool { return cells[i].Opened > w.Closed })
	}
	if n == 0 {
		return nil
	}
	return cells[n-1]
}

// ranIn returns the cells that a file name stands for. A report has few names, and looks them up again and again.
func (cf *CellFiles) ranIn(pid int32, number uint32) []*Window {
	if n := len(cf.stacks.Names); len(cf.ran) < n {
		cf.ran = slices.Grow(cf.ran, n-len(cf.ran))[:n]
	}
	lookup := &cf.ran[number]
	if lookup.pid != pid {
		*lookup = ran{pid, cf.ByName[FileKey{pid, cf.stacks.Names[number]}]}
	}
	return lookup.cells
}

// maxNames is the most names of cells' code that a profiler keeps, maxOfName the most cells of one: a cell that ended
// earlier may be handed out later.
const (
	maxNames  = 1 << 10
	maxOfName = 4
)

// Shrink drops from a cell that is over all that its name does not need, and drops the oldest cells with that name.
func (cf *CellFiles) Shrink(w *Window) {
	key := FileKey{w.Process.Info.PID, w.File}
	cells := cf.ByName[key]
	i := slices.Index(cells, w)
	if i < 0 {
		return
	}
	slim := *w
	slim.Detail, slim.Parent, slim.Statement, slim.Hooks, slim.AtResult, slim.Birth = nil, nil, nil, nil, nil, nil
	slim.Before, slim.After, slim.Note = nil, nil, nil
	cells[i] = &slim
	if excess := len(cells) - maxOfName; excess > 0 {
		cf.ByName[key] = slices.Clone(cells[excess:])
	}
	cf.ran = nil
	if len(cf.ByName) > maxNames {
		cf.Sweep()
	}
	if len(cf.ByName) > maxNames {
		cf.drop(func(string) bool { return true })
	}
}

// Sweep drops the names that no stack has.
func (cf *CellFiles) Sweep() {
	cf.drop(func(file string) bool { _, known := cf.stacks.NameAt[file]; return !known })
}

// drop drops names of cells that are over.
func (cf *CellFiles) drop(which func(file string) bool) {
	for key, cells := range cf.ByName {
		if which(key.File) && !slices.ContainsFunc(cells, func(c *Window) bool { return c.IsOpen }) {
			delete(cf.ByName, key)
		}
	}
	cf.ran = nil
}

// Forget drops the cells that it has looked up for file names.
func (cf *CellFiles) Forget() { cf.ran = nil }

// WithCells returns variables with the traceback named after the cell that failed, where that cell is known.
func (cf *CellFiles) WithCells(e *event.Variables) *event.Variables {
	traceback := slices.IndexFunc(e.Variables, func(v event.Variable) bool {
		return v.Kind == event.HeldByTraceback && len(v.Codes) > 0
	})
	if traceback < 0 {
		return e
	}
	cell := cf.failedCell(e.PID, e.Variables[traceback].Codes)
	if cell == "" {
		return e
	}
	named := *e
	named.Variables = slices.Clone(e.Variables)
	named.Variables[traceback].Name = "traceback of " + cell
	return &named
}

// failedCell returns the name, for people, of the cell that a traceback came from, "" if it is not known. It is the
// cell of the outermost call that belongs to a cell. If that cell ran several times, it is the last run that failed.
func (cf *CellFiles) failedCell(pid int32, codes []event.Code) string {
	for _, code := range codes {
		if code.Input > 0 {
			return words.In(int(code.Input))
		}
		if strings.TrimSpace(code.File) == "" {
			continue
		}
		runs := cf.ByName[FileKey{pid, code.File}]
		if len(runs) == 0 {
			continue
		}
		for _, w := range slices.Backward(runs) {
			if w.Status == model.Error || w.Status == model.Interrupted {
				return CountOf(w)
			}
		}
		return CountOf(runs[len(runs)-1])
	}
	return ""
}

// CountOf returns a cell's In[N], or the name that marimo gives to it; "" if it has none.
func CountOf(w *Window) string {
	if w.Count < 0 || w.Silent {
		return w.Name
	}
	return words.In(w.Count)
}
