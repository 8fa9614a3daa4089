package attribution

import (
	"slices"
	"sort"
)

// ran are the cells that a file name stands for in a process, 0 for not known.
type ran struct {
	pid   int32
	cells []*window
}

// fileKey is the name of a cell's code in a process.
type fileKey struct {
	pid  int32
	file string
}

// cellFiles are the cells that names of files stand for.
type cellFiles struct {
	stacks *stackTable
	byName map[fileKey][]*window
	ran    []ran // by the number of the name
}

// add notes the file name of a cell that begins.
func (cf *cellFiles) add(pid int32, cell *window) {
	key := fileKey{pid, cell.file}
	cf.byName[key] = append(cf.byName[key], cell)
	cf.ran = nil
}

// cellOf is the cell that a file name stands for, by its number, seen from a window: itself, or the latest that began
// before its end.
func (cf *cellFiles) cellOf(w *window, pid int32, number uint32) *window {
	file := cf.stacks.names[number]
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

// ranIn are the cells that a file name stands for. The names of a report are few, and asked for again and again.
func (cf *cellFiles) ranIn(pid int32, number uint32) []*window {
	if n := len(cf.stacks.names); len(cf.ran) < n {
		cf.ran = slices.Grow(cf.ran, n-len(cf.ran))[:n]
	}
	one := &cf.ran[number]
	if one.pid != pid {
		*one = ran{pid, cf.byName[fileKey{pid, cf.stacks.names[number]}]}
	}
	return one.cells
}
