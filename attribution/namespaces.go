package attribution

import (
	"cmp"
	"slices"

	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/freeing"
	"ipytracer/model"
)

// Least sizes of blocks that are looked up. NumPy keeps smaller ones in a cache of its own; from 128 KiB on, malloc
// maps most blocks one by one, and such a mapping begins 16 bytes in front of its block (malloc/malloc.c).
const (
	leastOfArray  = 1 << 10
	leastOfMapped = 128 << 10
	mallocHeader  = 16
)

// namespaces are the named variables of processes, and the parts of their resident memory: the last event of each.
type namespaces struct {
	*windows.State
	symbolizer *symbolizer
	makers     windows.Makers
	listed     []*event.Variables // at the end
	early      []*event.Variables // while the session ran
	where      []*event.Residence
}

// variables returns the named variables of processes at the end, with the code that made them.
func (ns *namespaces) variables() (out []model.Variable, names []model.Names) {
	for _, e := range ns.listed {
		some, of := ns.variablesOf(e)
		out, names = append(out, some...), append(names, of)
	}
	slices.SortStableFunc(out, largerVariable)
	return out, names
}

func largerVariable(x, y model.Variable) int {
	return cmp.Or(cmp.Compare(y.Size(), x.Size()), cmp.Compare(y.Bytes+y.Device, x.Bytes+x.Device),
		cmp.Compare(x.PID, y.PID))
}

// variablesOf returns the variables of one process.
func (ns *namespaces) variablesOf(e *event.Variables) (out []model.Variable, names model.Names) {
	for _, v := range e.Variables {
		one := model.Variable{
			PID: int(e.PID), Name: v.Name, Also: v.Also, Kind: string(v.Kind), Type: v.Type, Shape: v.Shape,
			DType: v.DType,
			Bytes: int64(v.Bytes), Reaches: int64(v.Reaches), Device: int64(v.Device), Exact: v.Exact && e.Complete,
			ViewBytes: int64(v.Viewed), BaseBytes: int64(v.Base), Contents: contentsOf(v.Contents),
		}
		if e.Resides {
			one.Resident, one.Maps = new(int64(v.Resident)), freeing.MapsOf(v.Maps)
		}
		for _, c := range v.Columns {
			one.Columns = append(one.Columns,
				model.Column{Name: c.Name, DType: c.DType, Bytes: int64(c.Bytes), Exact: c.Exact && e.Complete,
					Contents: contentsOf(c.Contents)})
		}
		one.MoreColumns, one.RestColumns = v.MoreColumns, int64(v.RestColumns)
		if v.Length >= 0 {
			length := v.Length
			one.Length = &length
		}
		ns.madeBy(&one, e.PID, v)
		out = append(out, one)
	}
	return out, model.Names{PID: int(e.PID), Unlisted: e.Unlisted, Bytes: int64(e.Rest), Objects: int64(e.Total),
		Complete: e.Complete}
}

// toFree returns the code that frees memory of processes in which code can be typed.
func (ns *namespaces) toFree() (out []model.Freeing) {
	for _, e := range ns.listed {
		p := ns.Processes.ByPID[e.PID]
		if p == nil || !p.CanRunCells() {
			continue
		}
		for _, f := range freeing.Of(e) {
			f.Kernel = p.Kernel()
			out = append(out, f)
		}
	}
	return out
}

// resident returns the parts of the resident memory of processes at the end.
func (ns *namespaces) resident() (out []model.Resident) {
	for _, e := range ns.where {
		one := model.Resident{PID: int(e.PID), Total: int64(e.Total), Trim: int64(e.Trim), Complete: e.Complete,
			Parts: []model.ResidentPart{}}
		for _, p := range e.Parts {
			one.Parts = append(one.Parts, model.ResidentPart{Kind: p.Kind, Bytes: int64(p.Bytes)})
		}
		out = append(out, one)
	}
	return out
}

// list takes in the named variables of a process, in place of those that it reported before.
func (ns *namespaces) list(e *event.Variables) {
	e = ns.Files.WithCells(e)
	all := &ns.listed
	if e.Early {
		all = &ns.early
	}
	*all = slices.DeleteFunc(*all, func(known *event.Variables) bool { return known.PID == e.PID })
	if ns.Limits.Room(&ns.Limits.Processes, len(*all) < stacks.MaxListed) {
		*all = append(*all, e)
	}
}

// cutShort notes that the events stop before the session did: more rows about the same names may be missing.
func (ns *namespaces) cutShort() {
	for i, e := range ns.listed {
		one := Partial(*e)
		ns.listed[i] = &one
	}
	for i, e := range ns.where {
		one := *e
		one.Complete = false
		ns.where[i] = &one
	}
}

// Partial returns variables of a session that is not known to its end: their sizes are lower bounds.
func Partial(e event.Variables) event.Variables {
	e.Complete, e.Variables = false, slices.Clone(e.Variables)
	for i := range e.Variables {
		e.Variables[i].Exact = false
	}
	return e
}

// resides takes in the parts of a process's resident memory, in place of those reported before.
func (ns *namespaces) resides(e *event.Residence) {
	ns.where = slices.DeleteFunc(ns.where, func(known *event.Residence) bool { return known.PID == e.PID })
	if ns.Limits.Room(&ns.Limits.Processes, len(ns.where) < stacks.MaxListed) {
		ns.where = append(ns.where, e)
	}
}

// madeBy records the code that made the largest piece of memory of a variable, as far as it is known.
func (ns *namespaces) madeBy(one *model.Variable, pid int32, v event.Variable) {
	stack, found, meter, seen := ns.maker(pid, v)
	p := ns.Processes.ByPID[pid]
	w := ns.Processes.SessionOf(p)
	if !found {
		one.Before = seen && w != nil && p.Info.Late && !slices.Contains(ns.Table.Whole(w).Paused, meter) && ns.heard()
		return
	}
	s := ns.Stacks.Of(stack)
	if s == nil || w == nil {
		return
	}
	one.Stack = ns.symbolizer.frames(w, s)
	for _, f := range one.Stack { // the outermost frame in a cell counts
		if f.InCell() {
			one.Execution, one.ExecutionCount, one.Line = f.Execution, f.ExecutionCount, f.Line
		}
	}
}

// maker finds the stack of a variable's largest piece of memory. seen says that a meter would have recorded the block,
// had it been made in the session.
func (ns *namespaces) maker(pid int32, v event.Variable) (stack uint64, found bool, meter event.Meter, seen bool) {
	if v.Block == 0 {
		return 0, false, 0, false
	}
	if v.Array {
		for m := range event.Meter(event.MeterCount) {
			if stack, ok := ns.makers.BlockAt(pid, m, v.Block); ok && m != event.Mapped {
				return stack, true, m, true
			}
		}
		return 0, false, event.NumPy, v.Size >= leastOfArray
	}
	start := v.Block - mallocHeader
	if v.Size < leastOfMapped || start%ns.Session.Page() != 0 {
		return 0, false, 0, false
	}
	stack, found = ns.makers.RangeAt(pid, start)
	return stack, found, event.Mapped, true
}

// heard reports whether every block that was made in the session is known, on meters that were never stepped down.
func (ns *namespaces) heard() bool {
	if !ns.makers.IsWhole() || ns.Session.Finish == nil || ns.Session.IsCut() {
		return false
	}
	for _, l := range ns.Session.Finish.Lost {
		if l.Count > 0 {
			return false
		}
	}
	return true
}

// forget drops the listed names.
func (ns *namespaces) forget() { ns.early, ns.listed = nil, nil }
