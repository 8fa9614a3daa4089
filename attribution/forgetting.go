package attribution

import (
	"slices"
)

// A profiler runs for as long as its kernel, which has new code in each cell. So stacks are forgotten: the kernel half
// forgets which ones it has sent, and sends each again when it is next met. A stack that was not sent again, and that
// nothing refers to, is dropped here.

// sweep drops the stacks that were not sent since the kernel half forgot them, unless they are needed.
func (pr *profiler) sweep() {
	t := pr.core.stacks
	if !t.IsOld() {
		return
	}
	needed := map[uint64]bool{}
	for _, stack := range pr.used { // a thread's last stack is not sent again
		needed[t.Original(stack)] = true
	}
	for _, held := range pr.ledger.Held {
		for stack := range held.ByStack {
			needed[t.Original(stack)] = true
		}
	}
	t.Shrink(needed)
	pr.core.symbolizer.forget()
	pr.core.files.sweep()
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
