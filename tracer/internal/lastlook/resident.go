package lastlook

import (
	"cmp"
	"maps"
	"math/bits"
	"runtime"
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/resident"
	"ipytracer/internal/python/holders"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/tracer/internal/tracee"
)

// ExplainResident locates the resident memory of every running Python. In a recorded session it may take more time.
func (l *Look) ExplainResident() (found []event.Event) {
	limits := resident.Limits{Bytes: 128 << 20, Time: time.Second}
	if l.Asked {
		limits = resident.Limits{Bytes: 1 << 30, Time: 4 * time.Second}
	}
	for _, t := range l.Targets {
		if t.Gone || t.Python == nil || l.cutShort() {
			continue
		}
		began := tracee.Now()
		a, err := l.explain(t, limits, nil)
		if err != nil {
			l.Log.Warn("where the resident memory is could not be found out", "pid", t.PID, "error", err)
			continue
		}
		l.Log.Debug("where the resident memory is", "pid", t.PID, "bytes", a.Total, "took",
			time.Duration(tracee.Now()-began),
			"complete", a.Complete)
		e := &event.Residence{
			Time: began, Root: t.Root, PID: int32(t.PID), Total: event.Bytes(a.Total), Trim: event.Bytes(a.Trim),
			Complete: a.Complete, Swapped: event.Bytes(a.Swapped), Huge: event.Bytes(a.Huge),
		}
		for _, p := range a.Parts {
			e.Parts = append(e.Parts, event.ResidencePart{Kind: string(p.Kind), Bytes: event.Bytes(p.Bytes),
				Returns: event.Bytes(p.Returns), File: p.File})
		}
		found = append(found, e)
	}
	return found
}

// explain locates the resident memory of one Python. Unless freed is nil, it also finds by how much the memory would
// fall if these blocks were freed.
func (l *Look) explain(t *tracee.Target, limits resident.Limits, freed *resident.Freed) (resident.Account, error) {
	smaps, err := l.FS.Proc(t.PID).File("smaps")
	if err != nil {
		return resident.Account{}, err
	}
	defer smaps.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	limits.Ended, limits.Used = l.context().Done(), objects.ProcessorTime
	source := resident.Source{Smaps: smaps, Freed: freed, Python: t.Python.Binary.Version().Minor}
	if pages, err := l.FS.Proc(t.PID).File("pagemap"); err == nil {
		defer pages.Close()
		source.Memory, source.Pages = t.Python.Live.Memory(), pages
	}
	return resident.Explain(source, limits)
}

// Bounds of the search for the resident memory that names hold.
const (
	fallingBytes = 512 << 20   // bytes to read, if the session is not recorded
	fallingTime  = time.Second // likewise
	maxFalls     = 1024        // sets of owners
	leastFall    = 16 << 10    // bytes of a set of owners that is added
	largeBlock   = 64 << 10    // bytes of a block whose absent pages are subtracted
)

// addResident finds out by how much the resident memory of a process falls with each share, and which part of variables
// is in memory. Nothing is known where a limit is hit.
func (l *Look) addResident(t *tracee.Target, e *event.Variables, places *holders.Places) {
	if places == nil {
		e.Ranged = e.Complete
		e.Resides = len(e.Shares) == 0 && e.Complete && !slices.ContainsFunc(e.Variables, func(v event.Variable) bool {
			return v.Bytes > 0 // that no code can let go of: nobody has looked where its blocks lie
		})
		return
	}
	if !places.Complete {
		return
	}
	e.Ranged, e.Ranges = true, places.Ranges
	began := tracee.Now()
	freed := &resident.Freed{Small: places.Small, Large: blocksOf(places.Large), Maps: blocksOf(places.Maps)}
	limits := resident.Limits{Bytes: fallingBytes, Time: fallingTime}
	if l.Asked {
		limits = resident.Limits{Bytes: 2 * fallingBytes, Time: 4 * fallingTime}
	}
	a, err := l.explain(t, limits, freed)
	l.Log.Debug("what would fall", "pid", t.PID, "blocks", len(freed.Large), "complete", a.Complete, "error", err,
		"took", time.Duration(tracee.Now()-began))
	if err != nil || !a.Complete || a.Falls == nil {
		return
	}
	e.Resides, e.Trim = true, event.Bytes(a.Trim)
	absent := map[uint64]event.Bytes{}
	for i, b := range freed.Large {
		if b.Size >= largeBlock {
			absent[b.Owners] += event.Bytes(b.Size - min(b.Size, a.Falls.Resident[i]))
		}
	}
	addFalls(e, a.Falls)
	for i := range e.Shares {
		s := &e.Shares[i]
		s.Resident = s.Bytes - min(s.Bytes, absent[s.Mask()])
	}
	for i := range e.Variables {
		e.Variables[i].Resident = e.Variables[i].Bytes
	}
	for i, o := range e.Owners {
		if o.Variable >= 0 && int(o.Variable) < len(e.Variables) {
			v := &e.Variables[o.Variable]
			v.Resident = v.Bytes - min(v.Bytes, absent[1<<i])
			v.Maps = mapsOf(a.Falls.Maps[1<<i])
		}
	}
}

// blocksOf returns blocks as [resident.Explain] takes them.
func blocksOf(placed []holders.Placed) []resident.Block {
	out := make([]resident.Block, len(placed))
	for i, b := range placed {
		out[i] = resident.Block{Address: b.Address, Size: b.Size, Owners: b.Owners}
	}
	return out
}

// addFalls sets in each share by how much resident memory falls with exactly its owners. Pages with blocks of several
// shares become shares of their own.
func addFalls(e *event.Variables, falls *resident.Falls) {
	indexes := map[uint64]int{}
	for i := range e.Shares {
		indexes[e.Shares[i].Mask()] = i
	}
	var sets []uint64
	for _, bySet := range []map[uint64]uint64{falls.AtOnce, falls.Trims} {
		for set := range bySet {
			sets = append(sets, set)
		}
	}
	size := func(set uint64) uint64 { return falls.AtOnce[set] + falls.Trims[set] }
	slices.SortFunc(sets, func(a, b uint64) int { return cmp.Or(cmp.Compare(size(b), size(a)), cmp.Compare(a, b)) })
	for _, set := range slices.Compact(sets) {
		i, known := indexes[set]
		if !known {
			if size(set) < leastFall || len(e.Shares) >= maxFalls {
				continue
			}
			i = len(e.Shares)
			share := event.Share{Exact: true}
			for m := set; m != 0; m &= m - 1 {
				share.Owners = append(share.Owners, int32(bits.TrailingZeros64(m)))
			}
			indexes[set] = i
			e.Shares = append(e.Shares, share)
		}
		e.Shares[i].Frees, e.Shares[i].Trims = event.Bytes(falls.AtOnce[set]), event.Bytes(falls.Trims[set])
		e.Shares[i].Maps = mapsOf(falls.Maps[set])
	}
	for set, bytes := range falls.May {
		if i, known := indexes[set]; known && bytes >= max(leastFall, size(set)/100) {
			e.Shares[i].Exact = false
		}
	}
}

// mapsOf returns the parts of memory maps that are in memory, by the kind that they count as.
func mapsOf(kinds map[resident.Kind]uint64) (out []event.ResidencePart) {
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		out = append(out, event.ResidencePart{Kind: string(k), Bytes: event.Bytes(kinds[k])})
	}
	return out
}
