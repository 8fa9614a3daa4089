// Package freeing generates the code to type in a notebook to free memory. The memory is that of names, of the ends of
// paths, and of the bases of views. It is pure: the same look gives the same code.
package freeing

import (
	"cmp"
	"slices"

	"ipytracer/event"
	"ipytracer/model"
)

// Bounds on the entries of code.
const (
	leastFreed   = 1 << 20   // bytes that an entry must free
	leastBetween = 256 << 10 // bytes that owners must share to be released together
	leastSmall   = 16 << 20  // bytes that matter in small blocks: of less, little visibly comes back
	maxFreeings  = 8         // entries of a process
	maxTogether  = 16        // owners of an entry
	maxDeleted   = 4         // names that share nothing in one entry
)

// Of returns the code that frees memory which a process holds by name. The entry that frees most comes first. Memory
// that several owners hold together has one entry for all of them, because releasing only some of them does not free
// it.
func Of(e *event.Variables) (out []model.Freeing) {
	for _, p := range Promises(e) {
		out = append(out, p.Freeing)
	}
	return out
}

// Promise is an entry of code with the largest objects that it frees.
type Promise struct {
	model.Freeing
	Pieces []event.Piece

	owners   []int // the released owners
	frees    int64 // resident bytes that are freed at once and with malloc_trim
	collects bool  // the code runs the garbage collector
}

// Promises returns the entries of [Of], each with the largest objects that it frees. An entry releases owners that
// share memory, or several names that share nothing: see [freer.deletions].
func Promises(e *event.Variables) (out []Promise) {
	f := newFreer(withOwners(e))
	f.joinSets()
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
		if f.look.Resides {
			return p.frees + p.Device
		}
		return p.Predicted + p.Device
	}
	slices.SortStableFunc(out, func(a, b Promise) int {
		return cmp.Or(cmp.Compare(freed(&b), freed(&a)), cmp.Compare(a.Type, b.Type))
	})
	return f.setFalls(out[:min(len(out), maxFreeings)])
}

// deletions returns entries that delete names which share nothing, the largest names first, maxDeleted in each entry.
// Names of GPU memory have entries of their own.
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
	look      *event.Variables
	collector int // the owner that stands for garbage that waits for the collector, -1 for none
	usable    []bool
	set       []int // of each owner: another of the same set, or itself
}

func newFreer(e *event.Variables) *freer {
	f := &freer{look: e, collector: -1, usable: make([]bool, len(e.Owners)), set: make([]int, len(e.Owners))}
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

// isTraining reports whether an owner is an optimizer whose parameters also have another holder, such as a name or a
// graph of PyTorch: then the notebook trains, and still needs it.
func (f *freer) isTraining(o int) bool {
	if f.look.Owners[o].Tool != event.ToolOptimizer {
		return false
	}
	if at := f.look.Owners[o].Variable; at >= 0 && int(at) < len(f.look.Variables) &&
		f.look.Variables[at].Reaches-f.look.Variables[at].Bytes >= leastBetween {
		return true
	}
	return slices.ContainsFunc(f.look.Shares, func(s event.Share) bool {
		return len(s.Owners) > 1 && slices.Contains(s.Owners, int32(o)) && isWorth(&s, leastBetween)
	})
}

// shares yields the shares whose owners can all be released, with their indexes.
func (f *freer) shares(yield func(int, *event.Share) bool) {
	for i := range f.look.Shares {
		s := &f.look.Shares[i]
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

// setOf returns the owner that represents the set of an owner.
func (f *freer) setOf(o int) int {
	for f.set[o] != o {
		o = f.set[o]
	}
	return o
}

// joinSets joins owners that must be released together into one set. It joins garbage that waits for the collector with
// the last exception, and with every set whose release needs the collector.
func (f *freer) joinSets() {
	size := make([]int, len(f.set))
	for i := range size {
		size[i] = 1
	}
	for _, s := range f.shares {
		if !isWorth(s, leastBetween) {
			continue
		}
		first := f.setOf(int(s.Owners[0]))
		for _, o := range s.Owners[1:] {
			if other := f.setOf(int(o)); other != first && size[first]+size[other] <= maxTogether {
				f.set[other] = first
				size[first] += size[other]
			}
		}
	}
	if f.collector < 0 {
		return
	}
	if waits := f.sum([]int{f.collector}); !isWorth(&waits.Share, leastBetween) {
		return
	}
	for _, owners := range f.sets() { // else the code of two entries would free the garbage
		set, garbage := f.setOf(owners[0]), f.setOf(f.collector)
		if whole := f.sum(owners); set != garbage && isWorth(&whole.Share, leastFreed) && f.collects(owners) &&
			size[set]+size[garbage] <= maxTogether {
			f.set[set] = garbage
			size[garbage] += size[set]
		}
	}
}

// sets returns the sets of owners that can be released, in the order of their first owners.
func (f *freer) sets() (out [][]int) {
	indexes := map[int]int{} // in out, by the owner that represents the set
	for i := range f.set {
		if !f.usable[i] {
			continue
		}
		set := f.setOf(i)
		at, known := indexes[set]
		if !known {
			at = len(out)
			indexes[set] = at
			out = append(out, nil)
		}
		out[at] = append(out[at], i)
	}
	return out
}

// isWorth reports whether releasing a share visibly frees memory: least bytes outside of small blocks, or leastSmall
// bytes in small blocks.
func isWorth(s *event.Share, least event.Bytes) bool {
	return s.Bytes-s.Small+s.Device+mapped(s) >= least || s.Small >= leastSmall
}

// mapped returns the resident bytes of a share's memory maps.
func mapped(s *event.Share) (bytes event.Bytes) {
	for _, p := range s.Maps {
		bytes += p.Bytes
	}
	return bytes
}

// MapsOf adds up the resident parts of memory maps by kind.
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

// sum is the memory that is freed with a set of owners.
type sum struct {
	event.Share
	shared  event.Bytes // the part that several of the owners share
	indexes []int       // of the shares
}

// sum returns the memory that is freed when the given owners, and no others, are released.
func (f *freer) sum(owners []int) (out sum) {
	out.Exact = true
	for i, s := range f.shares {
		stays := func(o int32) bool { return !slices.Contains(owners, int(o)) }
		if slices.ContainsFunc(s.Owners, stays) {
			continue
		}
		out.indexes = append(out.indexes, i)
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

// collects reports whether freeing the memory of owners needs the garbage collector.
func (f *freer) collects(all []int) bool {
	if slices.ContainsFunc(all, func(o int) bool {
		return f.look.Owners[o].Kind == event.HeldByCycle || f.look.Owners[o].Kind == event.HeldByTraceback
	}) {
		return true
	}
	whole := f.sum(all)
	return whole.Cyclic > whole.Bytes/64
}

// alone returns the bytes that are freed if only one owner is released.
func (f *freer) alone(o int) event.Bytes {
	whole := f.sum([]int{o})
	return whole.Bytes + whole.Device + mapped(&whole.Share)
}

// isOnGPU reports whether most of the memory that is freed with one owner is GPU memory.
func (f *freer) isOnGPU(o int) bool {
	whole := f.sum([]int{o})
	return whole.Device > whole.Bytes
}

// isPlain reports whether an owner is a variable whose memory del alone frees.
func (f *freer) isPlain(o int) bool {
	return f.look.Owners[o].Kind == event.HeldByVariable && isDeleted(f.look.Owners[o]) && !f.collects([]int{o})
}

// entry returns the code that releases owners; ok is false if that frees too little.
func (f *freer) entry(all []int) (out Promise, ok bool) {
	whole := f.sum(all)
	if !isWorth(&whole.Share, leastFreed) {
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
		if at := owners[i].Variable; at >= 0 && int(at) < len(f.look.Variables) {
			names = append(names, f.look.Variables[at].Name)
		}
	}
	for _, i := range whole.indexes {
		out.Pieces = append(out.Pieces, f.look.Shares[i].Pieces...)
	}
	out.Freeing = model.Freeing{
		PID: int(f.look.PID), Type: releasingCode(owners, collects, false),
		Predicted: int64(whole.Bytes), Device: int64(whole.Device), Exact: whole.Exact && f.look.Complete,
		Names: names, Collects: collects, Shared: int64(whole.shared), Small: int64(whole.Small),
	}
	return out, true
}

// withOwners returns a look with owners and shares. Recordings of earlier versions have only the memory of each name:
// for these, each variable becomes an owner that shares nothing.
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
