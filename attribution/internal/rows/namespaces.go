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

// Sizes in bytes.
const (
	leastOfArray  = 1 << 10   // of arrays with known allocations: NumPy keeps smaller ones in a cache of its own
	LeastOfMapped = 128 << 10 // of blocks of which malloc maps most one by one (malloc/malloc.c)
	MallocHeader  = 16        // from the beginning of such a mapping to its block
)

// Namespaces has the named variables of processes, and the parts of their resident memory: the last event of each
// process.
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
		variables, ofProcess := ns.VariablesOf(e)
		out, names = append(out, variables...), append(names, ofProcess)
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
		variable := model.Variable{
			PID: int(e.PID), Name: v.Name, Also: v.Also, Kind: string(v.Kind), Type: v.Type, Shape: v.Shape,
			DType: v.DType,
			Bytes: int64(v.Bytes), Reaches: int64(v.Reaches), Device: int64(v.Device), Exact: v.Exact && e.Complete,
			ViewBytes: int64(v.Viewed), BaseBytes: int64(v.Base), Contents: ContentsOf(v.Contents),
		}
		if e.Resides {
			variable.Resident, variable.Maps = new(int64(v.Resident)), freeing.MapsOf(v.Maps)
		}
		for _, c := range v.Columns {
			variable.Columns = append(variable.Columns,
				model.Column{Name: c.Name, DType: c.DType, Bytes: int64(c.Bytes), Exact: c.Exact && e.Complete,
					Contents: ContentsOf(c.Contents)})
		}
		variable.MoreColumns, variable.RestColumns = v.MoreColumns, int64(v.RestColumns)
		if v.Length >= 0 {
			length := v.Length
			variable.Length = &length
		}
		ns.addMaker(&variable, e.PID, v)
		out = append(out, variable)
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
		resident := model.Resident{PID: int(e.PID), Total: int64(e.Total), Trim: int64(e.Trim), Complete: e.Complete,
			Parts: []model.ResidentPart{}, Swapped: int64(e.Swapped), Huge: int64(e.Huge)}
		for _, p := range e.Parts {
			resident.Parts = append(resident.Parts, model.ResidentPart{Kind: p.Kind, Bytes: int64(p.Bytes),
				Returns: int64(p.Returns), File: p.File})
		}
		out = append(out, resident)
	}
	return out
}

// List takes in the named variables of a process. They replace those that it reported before.
func (ns *Namespaces) List(e *event.Variables) {
	e = ns.Files.WithCells(e)
	list := &ns.Listed
	if e.Early {
		list = &ns.Early
	}
	*list = slices.DeleteFunc(*list, func(known *event.Variables) bool { return known.PID == e.PID })
	if ns.Limits.Room(&ns.Limits.Processes, len(*list) < stacks.MaxListed) {
		*list = append(*list, e)
	}
}

// CutShort makes all that is listed incomplete: the events stop before the session did, so more may be missing.
func (ns *Namespaces) CutShort() {
	for i, e := range ns.Listed {
		partial := Partial(*e)
		ns.Listed[i] = &partial
	}
	for i, e := range ns.where {
		one := *e
		one.Complete = false
		ns.where[i] = &one
	}
}

// Partial returns the variables of a session whose events stop before its end: their sizes are lower bounds.
func Partial(e event.Variables) event.Variables {
	e.Complete, e.Variables = false, slices.Clone(e.Variables)
	for i := range e.Variables {
		e.Variables[i].Exact = false
	}
	return e
}

// ListResidence takes in the parts of a process's resident memory. They replace those reported before.
func (ns *Namespaces) ListResidence(e *event.Residence) {
	ns.where = slices.DeleteFunc(ns.where, func(known *event.Residence) bool { return known.PID == e.PID })
	if ns.Limits.Room(&ns.Limits.Processes, len(ns.where) < stacks.MaxListed) {
		ns.where = append(ns.where, e)
	}
}

// addMaker sets in a variable the code that made its largest piece of memory, if known, or else that the piece is older
// than the session.
func (ns *Namespaces) addMaker(variable *model.Variable, pid int32, v event.Variable) {
	stack, found, meter, seen := ns.Maker(pid, v)
	process := ns.Processes.ByPID[pid]
	w := ns.Processes.SessionOf(process)
	if !found {
		variable.Before = seen && w != nil && process.Info.Late && !slices.Contains(ns.Table.Whole(w).Paused, meter) &&
			ns.knowsAll()
		return
	}
	s := ns.Stacks.Of(stack)
	if s == nil || w == nil {
		return
	}
	variable.Stack = ns.symbolizer.Frames(w, s)
	for _, f := range variable.Stack { // the outermost frame in a cell counts
		if f.InCell() {
			variable.Execution, variable.ExecutionCount, variable.Line = f.Execution, f.ExecutionCount, f.Line
		}
	}
}

// Maker finds the stack that allocated a variable's largest piece of memory. seen: the meter records blocks of this
// kind, so an unknown block is older than the session or its record was lost.
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

// knowsAll reports whether no record of a block was lost: every block of the session is known, on meters that were
// never paused.
func (ns *Namespaces) knowsAll() bool {
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
