package blocks

import (
	"cmp"
	"slices"

	"ipytracer/attribution/internal/stacks"
	"ipytracer/model"
)

// maxForebears bounds the search for the process that made what another one has from it by forks.
const maxForebears = 64

// makerAt returns the stack that made what a process has at an address, itself or a process that forked it: a large
// block there, else the mapping, in whose small blocks it lies. 0 if that is not known.
func makerAt(a *Blocks, pid int32, address uint64) uint64 {
	for range maxForebears {
		if pages := a.touched.of[pid]; pages != nil {
			if stack := pages.lineAt(address); stack != 0 {
				return stack
			}
		}
		if stack, known := a.RangeAt(pid, address); known && stack != 0 {
			return stack
		}
		p := a.Processes.ByPID[pid]
		if p == nil || p.Parent == 0 {
			break
		}
		pid = p.Parent
	}
	return 0
}

// Copied lists what processes have copied since a fork, by the stack that made it.
func (li *Lister) Copied() []model.Copied {
	var out []model.Copied
	for pid, by := range li.Allocations.copies.of {
		for stack, bytes := range by {
			row := model.Copied{PID: int(pid), Bytes: int64(bytes), Stack: []model.Frame{}}
			if s := li.Stacks.Of(stack); s != nil {
				if w := li.Processes.SessionOf(li.Processes.ByPID[pid]); w != nil {
					row.Stack = append(row.Stack, li.Symbolizer.Frames(w, s)...)
				}
			}
			out = append(out, row)
		}
	}
	slices.SortFunc(out, func(x, y model.Copied) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.PID, y.PID),
			slices.CompareFunc(x.Stack, y.Stack, stacks.OrderFrames))
	})
	return slices.Clip(out[:min(len(out), stacks.MaxListed)])
}
