// Package freeing generates the code to type in a notebook to free memory: of names, of the ends of paths, and of the
// bases of views. It is pure: the same look gives the same code.
package freeing

import (
	"cmp"
	"slices"

	"ipytracer/event"
	"ipytracer/model"
)

// Bounds on the entries of code.
const (
	leastFreed   = 1 << 20   // bytes of an entry
	leastBetween = 256 << 10 // bytes that owners must share to be released together
	leastSmall   = 16 << 20  // the same in small blocks: of less, little memory visibly comes back
	maxFreeings  = 8         // entries of a process
	maxTogether  = 16        // owners of an entry
	maxDeleted   = 4         // names that share nothing in one entry
)

// Of returns the code to type to free the memory that a process holds by name, the entry that frees most first. Memory
// that several owners hold together is one entry, because releasing some of them frees nothing of it.
func Of(e *event.Variables) (out []model.Freeing) {
	for _, p := range Promises(e) {
		out = append(out, p.Freeing)
	}
	return out
}

// Promise is an entry, and the largest objects that it frees.
type Promise struct {
	model.Freeing
	Pieces []event.Piece

	owners   []int // that go
	frees    int64 // of the CPU's memory, at once and with malloc_trim
	collects bool
}

// Promises returns what [Of] returns, each entry with the largest objects that it frees. An entry releases one set of
// owners, or several plain names at once: see [freer.deletions].
func Promises(e *event.Variables) (out []Promise) {
	f := newFreer(withOwners(e))
	f.join()
	var plain []int // names that share nothing and need no garbage collection
	for _, set := range f.sets() {
		promise, ok := f.entry(set)
		if !ok {
			continue
		}
		if len(set) == 1 && f.isPlain(set[0]) {
			plain = append(plain, set[0])
		} else {
			out = append(out, promise)
		}
	}
	out = append(out, f.deletions(plain)...)
	freed := func(p *Promise) int64 {
		if f.of.Resides {
			return p.frees + p.Device
		}
		return p.Predicted + p.Device
	}
	slices.SortStableFunc(out, func(a, b Promise) int {
		return cmp.Or(cmp.Compare(freed(&b), freed(&a)), cmp.Compare(a.Type, b.Type))
	})
	return f.fall(out[:min(len(out), maxFreeings)])
}

// deletions returns the entries that delete plain names, maxDeleted in each, from the largest name on. Names of a GPU's
// memory have entries of their own.
func (f *freer) deletions(plain []int) (out []Promise) {
	slices.SortStableFunc(plain, func(a, b int) int { return cmp.Compare(f.alone(b), f.alone(a)) })
	for _, onGPU := range []bool{false, true} {
		names := slices.DeleteFunc(slices.Clone(plain), func(o int) bool { return f.isOnGPU(o) != onGPU })
		for some := range slices.Chunk(names, maxDeleted) {
			if promise, ok := f.entry(some); ok {
				out = append(out, promise)
			}
		}
	}
	return out
}

// freer computes the memory that is freed when a set of owners is released.
type freer struct {
	of        *event.Variables
	collector int // the owner that stands for garbage that waits for the collector, -1 for none
	usable    []bool
	set       []int // of each owner: another of the same set, or itself
}

func newFreer(e *event.Variables) *freer {
	f := &freer{of: e, collector: -1, usable: make([]bool, len(e.Owners)), set: make([]int, len(e.Owners))}
	for i, o := range e.Owners {
		f.set[i] = i
		f.usable[i] = isTypable(o)
		if o.Kind == event.HeldByCycle {
			f.collector = i
		}
	}
	for i := range e.Owners {
		f.usable[i] = f.usable[i] && !f.isTraining(i)
	}
	return f
}

// isTraining reports whether an owner is an optimizer of parameters that something else has as well, a name or a graph
// of PyTorch's: a notebook that trains goes on needing it.
func (f *freer) isTraining(o int) bool {
	if f.of.Owners[o].Tool != event.ToolOptimizer {
		return false
	}
	if at := f.of.Owners[o].Variable; at >= 0 && int(at) < len(f.of.Variables) &&
		f.of.Variables[at].Reaches-f.of.Variables[at].Bytes >= leastBetween {
		return true
	}
	return slices.ContainsFunc(f.of.Shares, func(s event.Share) bool {
		return len(s.Owners) > 1 && slices.Contains(s.Owners, int32(o)) && worth(&s, leastBetween)
	})
}

// shares yields the shares with owners that can all be released.
func (f *freer) shares(yield func(int, *event.Share) bool) {
	for i := range f.of.Shares {
		s := &f.of.Shares[i]
		stays := func(o int32) bool { return !f.isOwner(o) || !f.usable[o] }
		if len(s.Owners) == 0 || slices.ContainsFunc(s.Owners, stays) {
			continue
		}
		if !yield(i, s) {
			return
		}
	}
}

func (f *freer) isOwner(o int32) bool { return o >= 0 && int(o) < len(f.set) } // a recording can say anything

// find returns the owner that stands for the set of an owner.
func (f *freer) find(o int) int {
	for f.set[o] != o {
		o = f.set[o]
	}
	return o
}

// join joins owners that have to be released together into one set. Garbage that waits for the collector joins the last
// exception, and every other set that needs the collector.
func (f *freer) join() {
	size := make([]int, len(f.set))
	for i := range size {
		size[i] = 1
	}
	for _, s := range f.shares {
		if !worth(s, leastBetween) {
			continue
		}
		first := f.find(int(s.Owners[0]))
		for _, o := range s.Owners[1:] {
			if other := f.find(int(o)); other != first && size[first]+size[other] <= maxTogether {
				f.set[other] = first
				size[first] += size[other]
			}
		}
	}
	if f.collector < 0 {
		return
	}
	if waits := f.sum([]int{f.collector}); !worth(&waits.Share, leastBetween) {
		return
	}
	for _, all := range f.sets() { // two entries would both free it
		one, into := f.find(all[0]), f.find(f.collector)
		if whole := f.sum(all); one != into && worth(&whole.Share, leastFreed) && f.collects(all) &&
			size[one]+size[into] <= maxTogether {
			f.set[one] = into
			size[into] += size[one]
		}
	}
}

// sets returns the sets of usable owners, in the order of their first owners.
func (f *freer) sets() (out [][]int) {
	by := map[int]int{}
	for i := range f.set {
		if !f.usable[i] {
			continue
		}
		root := f.find(i)
		at, known := by[root]
		if !known {
			at = len(out)
			by[root] = at
			out = append(out, nil)
		}
		out[at] = append(out[at], i)
	}
	return out
}

// worth reports whether a share is so large that it matters.
func worth(s *event.Share, least event.Bytes) bool {
	return s.Bytes-s.Small+s.Device+mapped(s) >= least || s.Small >= leastSmall
}

// mapped returns what a share has of memory maps, in memory.
func mapped(s *event.Share) (bytes event.Bytes) {
	for _, p := range s.Maps {
		bytes += p.Bytes
	}
	return bytes
}

// MapsOf returns the resident parts of memory maps, each kind once.
func MapsOf(all []event.ResidencePart) (out []model.ResidentPart) {
	for _, p := range all {
		i := slices.IndexFunc(out, func(known model.ResidentPart) bool { return known.Kind == p.Kind })
		if i < 0 {
			i = len(out)
			out = append(out, model.ResidentPart{Kind: p.Kind})
		}
		out[i].Bytes += int64(p.Bytes)
	}
	return out
}

// sum is the memory that is freed with a set of owners, and the part that several of them share.
type sum struct {
	event.Share
	shared event.Bytes
	of     []int // indexes of the shares
}

// sum returns the sum of a set.
func (f *freer) sum(all []int) (out sum) {
	out.Exact = true
	for i, s := range f.shares {
		if slices.ContainsFunc(s.Owners, func(o int32) bool { return !slices.Contains(all, int(o)) }) {
			continue
		}
		out.of = append(out.of, i)
		out.Bytes += s.Bytes
		out.Cyclic += s.Cyclic
		out.Small += s.Small
		out.Device += s.Device
		out.Resident += s.Resident
		out.Maps = append(out.Maps, s.Maps...)
		out.Frees += s.Frees
		out.Trims += s.Trims
		out.Exact = out.Exact && s.Exact
		if len(s.Owners) > 1 {
			out.shared += s.Bytes + s.Device + mapped(s)
		}
	}
	return out
}

// collects reports whether releasing a set needs the garbage collector.
func (f *freer) collects(all []int) bool {
	if slices.ContainsFunc(all, func(o int) bool {
		return f.of.Owners[o].Kind == event.HeldByCycle || f.of.Owners[o].Kind == event.HeldByTraceback
	}) {
		return true
	}
	whole := f.sum(all)
	return whole.Cyclic > whole.Bytes/64
}

// alone returns the bytes that are freed with one owner.
func (f *freer) alone(o int) event.Bytes {
	whole := f.sum([]int{o})
	return whole.Bytes + whole.Device + mapped(&whole.Share)
}

// isOnGPU reports whether most of the memory that is freed with one owner is memory of GPUs.
func (f *freer) isOnGPU(o int) bool {
	whole := f.sum([]int{o})
	return whole.Device > whole.Bytes
}

// isPlain reports whether del alone frees the memory of an owner, a variable.
func (f *freer) isPlain(o int) bool {
	return f.of.Owners[o].Kind == event.HeldByVariable && isDeleted(f.of.Owners[o]) && !f.collects([]int{o})
}

// entry returns the code to release a set; false where that is not worth it.
func (f *freer) entry(all []int) (out Promise, ok bool) {
	whole := f.sum(all)
	if !worth(&whole.Share, leastFreed) {
		return out, false
	}
	collects := f.collects(all)
	out.owners, out.collects = all, collects
	if collects && f.collector >= 0 && !slices.Contains(all, f.collector) {
		out.owners = append(slices.Clip(all), f.collector)
		whole = f.sum(out.owners)
	}
	out.frees = int64(whole.Frees + whole.Trims)
	owners, names := f.ownersOf(all), []string{}
	for i := range owners {
		if at := owners[i].Variable; at >= 0 && int(at) < len(f.of.Variables) {
			names = append(names, f.of.Variables[at].Name)
		}
	}
	for _, i := range whole.of {
		out.Pieces = append(out.Pieces, f.of.Shares[i].Pieces...)
	}
	out.Freeing = model.Freeing{
		PID: int(f.of.PID), Type: typed(owners, collects, false),
		Predicted: int64(whole.Bytes), Device: int64(whole.Device), Exact: whole.Exact && f.of.Complete,
		Names: names, Collects: collects, Shared: int64(whole.shared), Small: int64(whole.Small),
	}
	return out, true
}

// withOwners returns a look with owners and shares. Recordings of earlier versions have only the memory of each name
// alone: there each variable is an owner that shares nothing.
func withOwners(e *event.Variables) *event.Variables {
	if len(e.Owners) > 0 {
		return e
	}
	of := *e
	for i, v := range e.Variables {
		o := event.Owner{Kind: v.Kind, Variable: int32(i), Names: slices.Concat([]string{v.Name}, v.Also)}
		if v.Kind != event.HeldByVariable || !isDeleted(o) {
			continue
		}
		of.Shares = append(of.Shares, event.Share{Owners: []int32{int32(len(of.Owners))}, Bytes: v.Bytes,
			Device: v.Device, Exact: v.Exact})
		of.Owners = append(of.Owners, o)
	}
	return &of
}
