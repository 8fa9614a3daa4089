package attribution

import (
	"cmp"
	"slices"

	"ipytracer/event"
	"ipytracer/model"
)

// Sizes from which on a block is looked for. NumPy keeps what is smaller in a cache of its own; from 128 KiB on malloc
// maps most blocks one by one, and such a mapping begins 16 bytes in front of its block (malloc/malloc.c).
const (
	leastOfArray  = 1 << 10
	leastOfMapped = 128 << 10
	mallocHeader  = 16
	pageSize      = 4096
)

// variables are what processes have by name at the end, with who made it.
func (t *Tracker) variables() (out []model.Variable, names []model.Names) {
	for _, e := range t.listed {
		some, of := t.variablesOf(e)
		out, names = append(out, some...), append(names, of)
	}
	slices.SortStableFunc(out, largerVariable)
	return out, names
}

func largerVariable(x, y model.Variable) int {
	return cmp.Or(cmp.Compare(y.Size(), x.Size()), cmp.Compare(y.Bytes+y.Device, x.Bytes+x.Device),
		cmp.Compare(x.PID, y.PID))
}

// Named are the variables that a look at a process has found while the session ran, in no order, with who made them.
func (t *Tracker) Named(e *event.Variables) ([]model.Variable, model.Names) {
	return t.variablesOf(WithCells(t, e))
}

// variablesOf are those of one process.
func (t *Tracker) variablesOf(e *event.Variables) (out []model.Variable, names model.Names) {
	for _, v := range e.Variables {
		one := model.Variable{
			PID: int(e.PID), Name: v.Name, Also: v.Also, Kind: string(v.Kind), Type: v.Type, Shape: v.Shape,
			DType: v.DType,
			Bytes: int64(v.Bytes), Reaches: int64(v.Reaches), Device: int64(v.Device), Exact: v.Exact && e.Complete,
			ViewBytes: int64(v.Viewed), BaseBytes: int64(v.Base),
		}
		for _, c := range v.Columns {
			one.Columns = append(one.Columns,
				model.Column{Name: c.Name, DType: c.DType, Bytes: int64(c.Bytes), Exact: c.Exact && e.Complete})
		}
		one.MoreColumns, one.RestColumns = v.MoreColumns, int64(v.RestColumns)
		if v.Length >= 0 {
			length := v.Length
			one.Length = &length
		}
		t.madeBy(&one, e.PID, v)
		out = append(out, one)
	}
	return out, model.Names{PID: int(e.PID), Unlisted: e.Unlisted, Bytes: int64(e.Rest), Objects: int64(e.Total),
		Complete: e.Complete}
}

// resident is where the resident memory of processes is at the end.
func (t *Tracker) resident() (out []model.Resident) {
	for _, e := range t.where {
		one := model.Resident{PID: int(e.PID), Total: int64(e.Total), Trim: int64(e.Trim), Complete: e.Complete,
			Parts: []model.ResidentPart{}}
		for _, p := range e.Parts {
			one.Parts = append(one.Parts, model.ResidentPart{Kind: p.Kind, Bytes: int64(p.Bytes)})
		}
		out = append(out, one)
	}
	return out
}

// list takes in what a process has by name; what it said before does not hold any more.
func (t *Tracker) list(e *event.Variables) {
	e = WithCells(t, e)
	all := &t.listed
	if e.Early {
		all = &t.early
	}
	*all = slices.DeleteFunc(*all, func(known *event.Variables) bool { return known.PID == e.PID })
	if t.limits.room(&t.limits.Processes, len(*all) < maxListed) {
		*all = append(*all, e)
	}
}

// resides takes in where a process's resident memory is; what it said before does not hold any more.
func (t *Tracker) resides(e *event.Residence) {
	t.where = slices.DeleteFunc(t.where, func(known *event.Residence) bool { return known.PID == e.PID })
	if t.limits.room(&t.limits.Processes, len(t.where) < maxListed) {
		t.where = append(t.where, e)
	}
}

// madeBy says who made the largest piece of memory of a variable, as far as it is known.
func (t *Tracker) madeBy(one *model.Variable, pid int32, v event.Variable) {
	stack, found, meter, seen := t.maker(pid, v)
	p := t.processes.byPID[pid]
	w := t.processes.sessionOf(p)
	if !found {
		one.Before = seen && w != nil && p.info.Late && !slices.Contains(t.table.whole(w).shed, meter) && t.heard()
		return
	}
	s := t.stacks.of(stack)
	if s == nil || w == nil {
		return
	}
	one.Stack = t.symbolizer.frames(w, s)
	for _, f := range one.Stack { // the outermost that is a cell's
		if f.InCell() {
			one.Execution, one.ExecutionCount, one.Line = f.Execution, f.ExecutionCount, f.Line
		}
	}
}

// maker finds the stack of a variable's largest piece of memory. seen says that a meter would have known the block, had
// it been made in the session.
func (t *Tracker) maker(pid int32, v event.Variable) (stack uint64, found bool, meter event.Meter, seen bool) {
	if v.Block == 0 {
		return 0, false, 0, false
	}
	if v.Array {
		for m := range event.Meter(event.MeterCount) {
			if stack, ok := t.blockAt(pid, m, v.Block); ok && m != event.Mapped {
				return stack, true, m, true
			}
		}
		return 0, false, event.NumPy, v.Size >= leastOfArray
	}
	start := v.Block - mallocHeader
	if v.Size < leastOfMapped || start%pageSize != 0 {
		return 0, false, 0, false
	}
	stack, found = t.rangeAt(pid, start)
	return stack, found, event.Mapped, true
}

// blockAt is the stack of a live block.
func (t *Tracker) blockAt(pid int32, m event.Meter, address uint64) (stack uint64, ok bool) {
	if t.audit != nil {
		b, ok := t.audit.live[pid][place{m, address}]
		return b.stack, ok
	}
	b, ok := t.allocations.blocks[blockKey{heldKey{pid, m}, address}]
	return b.stack, ok
}

// rangeAt is the stack of mapped memory.
func (t *Tracker) rangeAt(pid int32, address uint64) (stack uint64, ok bool) {
	all := t.allocations.ranges[pid]
	if t.audit != nil {
		all = t.audit.ranges[pid]
	}
	if all == nil {
		return 0, false
	}
	all.tree.DescendLessOrEqual(piece{start: address}, func(p piece) bool {
		stack, ok = p.stack, address < p.end
		return false
	})
	return stack, ok
}

// heard says whether every block that was made in the session is known, of meters that were never stepped down.
func (t *Tracker) heard() bool {
	if t.allocations.dropped > 0 || t.allocations.givenUp != "" || t.audit != nil && t.audit.dropped > 0 ||
		t.session.finish == nil {
		return false
	}
	for _, l := range t.session.finish.Lost {
		if l.Count > 0 {
			return false
		}
	}
	return true
}
