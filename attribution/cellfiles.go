package attribution

import (
	"slices"
	"sort"

	"ipytracer/attribution/internal/stacks"
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
