package rows

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
	LeastOfMapped = 128 << 10
	MallocHeader  = 16
)

// Namespaces are the named variables of processes, and the parts of their resident memory: the last event of each.
type Namespaces struct {
	*windows.State
	symbolizer *symbolizer
	makers     windows.Makers
	Listed     []*event.Variables // at the end
	Early      []*event.Variables // while the session ran
	where      []*event.Residence
}

// Variables returns the named variables of processes at the end, with the code that made them.
func (ns *Namespaces) Variables() (out []model.Variable, names []model.Names) {
	for _, e := range ns.Listed {
		some, of := ns.VariablesOf(e)
		out, names = append(out, some...), append(names, of)
	}
	slices.SortStableFunc(out, LargerVariable)
	return out, names
}

// LargerVariable orders the largest variable first.
func LargerVariable(x, y model.Variable) int {
	return cmp.Or(cmp.Compare(y.Size(), x.Size()), cmp.Compare(y.Bytes+y.Device, x.Bytes+x.Device),
		cmp.Compare(x.PID, y.PID))
}

// VariablesOf returns the variables of one process.
func (ns *Namespaces) VariablesOf(e *event.Variables) (out []model.Variable, names model.Names) {
	for _, v := range e.Variables {
		one := model.Variable{
			PID: int(e.PID), Name: v.Name, Also: v.Also, Kind: string(v.Kind), Type: v.Type, Shape: v.Shape,
			DType: v.DType,
			Bytes: int64(v.Bytes), Reaches: int64(v.Reaches), Device: int64(v.Device), Exact: v.Exact && e.Complete,
			ViewBytes: int64(v.Viewed), BaseBytes: int64(v.Base), Contents: ContentsOf(v.Contents),
		}
		if e.Resides {
			one.Resident, one.Maps = new(int64(v.Resident)), freeing.MapsOf(v.Maps)
		}
		for _, c := range v.Columns {
			one.Columns = append(one.Columns,
				model.Column{Name: c.Name, DType: c.DType, Bytes: int64(c.Bytes), Exact: c.Exact && e.Complete,
					Contents: ContentsOf(c.Contents)})
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

// ToFree returns the code that frees memory of processes in which code can be typed.
func (ns *Namespaces) ToFree() (out []model.Freeing) {
	for _, e := range ns.Listed {
		process := ns.Processes.ByPID[e.PID]
		if process == nil || !process.CanRunCells() {
			continue
		}
		for _, f := range freeing.Of(e) {
			f.Kernel = process.Kernel()
			out = append(out, f)
		}
	}
	return out
}

// Resident returns the parts of the resident memory of processes at the end.
func (ns *Namespaces) Resident() (out []model.Resident) {
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

// List takes in the named variables of a process, in place of those that it reported before.
func (ns *Namespaces) List(e *event.Variables) {
	e = ns.Files.WithCells(e)
	all := &ns.Listed
	if e.Early {
		all = &ns.Early
	}
	*all = slices.DeleteFunc(*all, func(known *event.Variables) bool { return known.PID == e.PID })
	if ns.Limits.Room(&ns.Limits.Processes, len(*all) < stacks.MaxListed) {
		*all = append(*all, e)
	}
}

// CutShort notes that the events stop before the session did: more rows about the same names may be missing.
func (ns *Namespaces) CutShort() {
	for i, e := range ns.Listed {
		one := Partial(*e)
		ns.Listed[i] = &one
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

// Resides takes in the parts of a process's resident memory, in place of those reported before.
func (ns *Namespaces) Resides(e *event.Residence) {
	ns.where = slices.DeleteFunc(ns.where, func(known *event.Residence) bool { return known.PID == e.PID })
	if ns.Limits.Room(&ns.Limits.Processes, len(ns.where) < stacks.MaxListed) {
		ns.where = append(ns.where, e)
	}
}

// madeBy records the code that made the largest piece of memory of a variable, as far as it is known.
func (ns *Namespaces) madeBy(one *model.Variable, pid int32, v event.Variable) {
	stack, found, meter, seen := ns.Maker(pid, v)
	process := ns.Processes.ByPID[pid]
	w := ns.Processes.SessionOf(process)
	if !found {
		one.Before = seen && w != nil && process.Info.Late && !slices.Contains(ns.Table.Whole(w).Paused, meter) &&
			ns.heard()
		return
	}
	s := ns.Stacks.Of(stack)
	if s == nil || w == nil {
		return
	}
	one.Stack = ns.symbolizer.Frames(w, s)
	for _, f := range one.Stack { // the outermost frame in a cell counts
		if f.InCell() {
			one.Execution, one.ExecutionCount, one.Line = f.Execution, f.ExecutionCount, f.Line
		}
	}
}

// Maker finds the stack of a variable's largest piece of memory. seen says that a meter would have recorded the block,
// had it been made in the session.
func (ns *Namespaces) Maker(pid int32, v event.Variable) (stack uint64, found bool, meter event.Meter, seen bool) {
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
	start := v.Block - MallocHeader
	if v.Size < LeastOfMapped || start%ns.Session.Page() != 0 {
		return 0, false, 0, false
	}
	stack, found = ns.makers.RangeAt(pid, start)
	return stack, found, event.Mapped, true
}

// heard reports whether every block that was made in the session is known, on meters that were never paused.
func (ns *Namespaces) heard() bool {
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

// Forget drops the listed names.
func (ns *Namespaces) Forget() { ns.Early, ns.Listed = nil, nil }
