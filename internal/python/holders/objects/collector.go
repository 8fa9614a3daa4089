package objects

// Collector has the state of a process's garbage collector.
type Collector struct {
	Known     bool   // the places of the fields are known in this version, and their contents are likely
	Disabled  bool   // gc.disable()
	oldest    uint64 // the head of the oldest generation's list
	permanent uint64 // the head of the list of objects that the collector leaves alone
	Complete  bool   // all lists were read from their heads to their ends
	pending   int    // how many objects, at most, came to the oldest list since the last full collection
}

// collectorAt has the places of the facts of [Collector] in struct _gc_runtime_state, in bytes:
// Include/internal/pycore_gc.h, pycore_interp_structs.h from 3.14 on.
type collectorAt struct{ enabled, first, permanent, pending uint64 }

// collectorsOf are the layouts of a minor version. There are three generations of 24 bytes: the head of a list, a
// threshold, a count. No object leaves the oldest one for another. Objects that come to it are put behind the rest, and
// counted in long_lived_pending until the collector looks at all objects. 3.13.5 has its generations 4 bytes in front
// of where 3.13.0 has them. The first minor versions of 3.14 have no generations; their lists are elsewhere.
func collectorsOf(minor int) []collectorAt {
	switch {
	case minor == 15:
		return []collectorAt{{0, 8, 80, 160}}
	case minor == 14:
		return []collectorAt{{12, 24, 96, 248}}
	case minor >= 9 && minor <= 13:
		return []collectorAt{{12, 24, 104, 232}, {12, 20, 104, 232}}
	}
	return nil
}

// readCollector reads the collector's state by the first layout that fits; Known is false if none does.
func readCollector(r Reader) (c Collector) {
	for _, at := range collectorsOf(r.Heap.Version.Minor) {
		if c = readCollectorAt(r, at); c.Known {
			break
		}
	}
	return c
}

func readCollectorAt(r Reader, at collectorAt) (c Collector) {
	const generations, size, most = 3, 24, 1 << 40
	gc := r.Heap.Interpreter + uint64(r.Heap.InterpGC)
	for i := range uint64(generations) {
		if !isHead(r, gc+at.first+i*size) {
			return c
		}
	}
	enabled, pending := r.Mem.Int32(gc+at.enabled), r.Mem.Word(gc+at.pending)
	if !isHead(r, gc+at.permanent) || enabled != 0 && enabled != 1 || pending > most {
		return c
	}
	return Collector{Known: true, Disabled: enabled == 0, oldest: gc + at.first + (generations-1)*size,
		permanent: gc + at.permanent, pending: int(pending)}
}

// listPart is the range [from, To) of indexes of a list.
type listPart struct{ from, To int }

func (s listPart) has(i int) bool { return i >= s.from && i < s.To }

// Keep sets the bounds of moved, which is this range after the list was compacted: the object at index from went to
// index to.
func (s listPart) Keep(from, to int, moved *listPart) {
	if from == s.from {
		moved.from = to
	}
	if from == s.To {
		moved.To = to
	}
}

// FlagOf returns a flag for an object in a range, 0 for others.
func FlagOf(s listPart, i int, flag uint32) uint32 {
	if s.has(i) {
		return flag
	}
	return 0
}

// isHead reports whether a list of the collector's, which may be empty, begins at an address.
func isHead(r Reader, addr uint64) bool {
	next, previous := r.Mem.Word(addr+gcNext)&^gcFlags, r.Mem.Word(addr+gcPrevious)&^gcFlags
	if next < LowestAddress || previous < LowestAddress {
		return false
	}
	if isEmpty := next == addr && previous == addr; isEmpty {
		return true
	}
	return r.Mem.Word(next+gcPrevious)&^gcFlags == addr || r.Mem.Word(previous+gcNext)&^gcFlags == addr
}
