package attribution

import (
	"slices"

	"ipytracer/event"
)

// A profiler runs for as long as its kernel, which has new code in each cell. So stacks are forgotten: the kernel half
// forgets which ones it has sent, and sends each again when it is next met. A stack that was not sent again, and that
// nothing refers to, is dropped here.

// sweep drops the stacks that were not sent since the kernel half forgot them, unless they are needed.
func (pr *profiler) sweep() {
	t := pr.core.stacks
	if !t.isOld() {
		return
	}
	needed := map[uint64]bool{}
	for _, stack := range pr.used { // a thread's last stack is not sent again
		needed[t.original(stack)] = true
	}
	for _, held := range pr.ledger.held {
		for stack := range held.byStack {
			needed[t.original(stack)] = true
		}
	}
	for _, r := range pr.core.processes.roots {
		for _, w := range r.open {
			w.refersTo(t, needed)
		}
	}
	t.shrink(needed)
	pr.core.symbolizer.forget()
	*pr.ledger.divided = divided{stacks: t}
	pr.core.files.sweep()
}

// refersTo adds the stacks of a window's tallies.
func (w *window) refersTo(t *stackTable, needed map[uint64]bool) {
	for _, w := range []*window{w, w.atResult} {
		if w == nil || w.detail == nil {
			continue
		}
		for _, all := range w.tallies {
			for stack := range all.byStack {
				needed[t.original(stack)] = true
			}
		}
	}
}

// isOld reports whether there are stacks of an earlier era.
func (t *stackTable) isOld() bool {
	return t.swept != t.era
}

// original returns the number of a stack itself, for that of its samples.
func (t *stackTable) original(number uint64) uint64 {
	if t.isSampled(number) {
		return number ^ sampleMark
	}
	return number
}

// shrink leaves the stacks of this era, and those that are needed.
func (t *stackTable) shrink(needed map[uint64]bool) {
	fresh := newStackTable()
	fresh.room, fresh.dropped, fresh.era, fresh.swept = t.room, t.dropped, t.era, t.era
	keep := func(number uint64, s *stack) {
		if s.era != t.era && !needed[number] {
			return
		}
		one := event.Stack{Number: number, PID: s.pid, More: s.more}
		for _, call := range t.callsOf(s) {
			one.Frames = append(one.Frames, t.frame(call))
		}
		fresh.take(&one)
	}
	for i := range t.stacks {
		keep(t.stacks[i].number, &t.stacks[i])
	}
	for number, i := range t.also {
		keep(number, &t.stacks[i])
	}
	for number := range t.sampled {
		if fresh.place(number^sampleMark) > 0 {
			fresh.sample(number ^ sampleMark)
		}
	}
	*t = *fresh
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
	cf.drop(func(file string) bool { _, known := cf.stacks.nameAt[file]; return !known })
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
