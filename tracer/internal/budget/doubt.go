package budget

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"ipytracer/internal/ledger"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/tracer/internal/tracee"
)

// While the probes on NumPy are paused, arrays are allocated and freed unseen. When the probes are back, user
// space searches for all arrays that Python objects hold, and decides for each block that the ledger knows whether it
// still exists:
//
//   - A found array has the block: the block is live, and its size is known.
//   - malloc's header in front of the block does not fit the block's size, or the memory is not mapped any more: the
//     block was freed.
//   - Otherwise the block is in doubt. It still counts, and the meter is off by at most its bytes.
//
// Found arrays without a known block were allocated meanwhile. Arrays that only C code holds are not found. Their bytes
// are unknown, but at most the memory that the process has mapped beyond the known blocks. So after a pause the meter
// is never exact again, and has a bound.

// lookTime limits the processor time of one search. Meanwhile the process runs, and the probes see its allocations.
const lookTime = 20 * time.Second

// restAfterLook is the least length of a pause, in multiples of the time of a search, which takes the tracer a core.
const restAfterLook = 5

// arrayWaker is the part of the kernel half that searches use: the blocks that it knows, and a way to wake the reader
// of records.
type arrayWaker interface {
	tracee.ArrayTable
	Wake() error
}

// Searches are the searches of all roots.
type Searches struct {
	kernel  arrayWaker
	log     *slog.Logger
	report  *tracee.Certificate
	running sync.WaitGroup
}

// Begin starts to search the targets of a root, unless a search is running. before: it searches for the arrays from
// before the session.
func (all *Searches) Begin(targets []*tracee.Target, root uint32, r *Pauses, before bool) {
	if r.searches != nil {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), tracee.HeldUp*lookTime)
	l := &arraySearches{done: make(chan arraySearch, len(targets)), stop: stop}
	for _, t := range targets {
		if t.Root != root || t.Gone || t.Python == nil || before && (!t.Late || t.Before != nil) {
			continue
		}
		l.left++
		live := t.Python.Live
		all.running.Go(func() {
			search := arraySearch{target: t, before: before, began: time.Now()}
			search.found, search.err = holders.Arrays(ctx, live, leastArray, objects.Limits{Time: lookTime})
			search.took = time.Since(search.began)
			l.done <- search
			_ = all.kernel.Wake()
		})
	}
	r.searches = l
}

// leastArray is the size of the smallest block that NumPy's meter counts, in bytes, unless it counts small blocks.
const leastArray = 1024

// TakeIn processes the results of the searches.
func (all *Searches) TakeIn(targets []*tracee.Target, roots map[uint32]*Pauses) {
	for root, r := range roots {
		for r.searches != nil {
			if r.searches.left == 0 {
				all.end(targets, root, r)
				break
			}
			select {
			case search := <-r.searches.done:
				r.searches.left--
				r.leastPause = max(r.leastPause, restAfterLook*search.took)
				all.process(r, search)
				continue
			default:
			}
			break
		}
	}
}

// process processes the result for one target.
func (all *Searches) process(r *Pauses, search arraySearch) {
	t := search.target
	all.log.Debug("looked for arrays", "pid", t.PID, "arrays", len(search.found.Blocks),
		"complete", search.found.Complete,
		"took", search.took, "error", search.err)
	if t.Gone {
		return
	}
	known, meters, err := all.kernel.Arrays(t.Slot)
	if err != nil {
		all.report.Problem("the arrays of pid %d: %v", t.PID, err)
		r.searches.invalid = true
		return
	}
	if search.before {
		if search.err == nil && search.found.Complete {
			t.Before = unknownArrays(search.found.Blocks, known)
		}
		return
	}
	if r.searches.invalid {
		return
	}
	headers := readHeaders(t.Python.Memory, uint64(os.Getpagesize()))
	counted, left := judgeArrays(search.found.Blocks, known, headers, arraysBefore(t))
	for _, f := range counted {
		if _, err := all.kernel.SettleArray(t.Slot, f.address, f.known, f.found); err != nil {
			all.report.Problem("the arrays of pid %d: %v", t.PID, err)
			r.searches.invalid = true
			return
		}
	}
	if _, meters, err = all.kernel.Arrays(t.Slot); err != nil {
		r.searches.invalid = true
		return
	}
	r.searches.unsure += int64(left) + max(0, meters.Mapped-meters.NumPy)
}

// arraysBefore returns a function that reports whether an array may be from before the session, and so not in the
// meter.
func arraysBefore(t *tracee.Target) func(objects.Block) bool {
	return func(b objects.Block) bool { return t.Late && (t.Before == nil || t.Before[b.Address] == b.Size) }
}

// unknownArrays returns the sizes, by address, of the found arrays that the ledger does not know.
func unknownArrays(found []objects.Block, known []ledger.Array) map[uint64]uint64 {
	sizes := map[uint64]uint64{}
	for _, b := range found {
		sizes[b.Address] = b.Size
	}
	for _, a := range known {
		delete(sizes, a.Address)
	}
	return sizes
}

// end ends the searches of a root. Windows that open from now on have the narrower bound.
func (all *Searches) end(targets []*tracee.Target, root uint32, r *Pauses) {
	l := r.searches
	r.searches = nil
	l.stop()
	if l.invalid || slices.Contains(r.Groups, ledger.GroupNumPy) {
		return
	}
	for _, t := range targets {
		if t.Root == root && !t.Gone && all.kernel.Settled(t.PID, l.unsure) == nil {
			all.log.Debug("the account of arrays is settled", "pid", t.PID, "unsure", l.unsure)
			return
		}
	}
}

// Stop ends every search.
func (all *Searches) Stop(roots map[uint32]*Pauses) {
	for _, r := range roots {
		if r.searches != nil {
			r.searches.stop()
		}
	}
	all.running.Wait()
}

// verdict is the result for a block, in the terms of [ledger.Blocks.SettleArray].
type verdict struct{ address, known, found uint64 }

// judgeArrays compares the blocks that the ledger knows with those of arrays. It returns the certain results, and how
// many bytes of the blocks in doubt may have been freed.
func judgeArrays(found []objects.Block, known []ledger.Array,
	header func(address uint64) (header, bool), before func(objects.Block) bool) (out []verdict, left uint64) {
	there := make(map[uint64]uint64, len(found))
	for _, b := range found {
		there[b.Address] = b.Size
	}
	glibc, inDoubt := true, map[uint64]bool{}
	for _, a := range known {
		size, ok := there[a.Address]
		if ok && size == a.Size { // such a block shows whether malloc is glibc's
			h, readable := header(a.Address)
			glibc = glibc && readable && h.fits(a.Size)
		}
		inDoubt[a.Address] = a.Doubt
	}
	for _, a := range known {
		if !a.Doubt {
			continue
		}
		size, ok := there[a.Address]
		h, readable := header(a.Address)
		switch {
		case ok && size <= a.Size: // an array can span less than its block
			out = append(out, verdict{a.Address, a.Size, a.Size})
			left += a.Size - size
		case ok: // the block has gone, and a larger one begins where it began
			out = append(out, verdict{a.Address, a.Size, 0}, verdict{a.Address, 0, size})
		case !readable, glibc && !(h.fits(a.Size) && h.inUse):
			out = append(out, verdict{a.Address, a.Size, 0})
		default:
			left += a.Size
		}
	}
	for _, b := range found {
		if _, ok := inDoubt[b.Address]; ok || before(b) {
			continue
		}
		if h, readable := header(b.Address); readable && (!glibc || h.usable >= b.Size) {
			out = append(out, verdict{b.Address, 0, b.Size})
		}
	}
	return out, left
}

// header is the data of glibc's malloc in front of a block: malloc_chunk.mchunk_size (malloc/malloc.c), with
// PREV_INUSE, IS_MMAPPED and NON_MAIN_ARENA in its lowest bits.
type header struct {
	usable uint64 // bytes that may be used
	inUse  bool   // according to the next block; true for a block with its own mapping
	mapped bool
}

const (
	prevInUse = 1
	isMapped  = 2
	flagBits  = 7
)

// fits reports whether malloc returns a block with this header for a request of size bytes. The block may be larger by
// less than the size of the smallest block. A block with its own mapping consists of whole pages, which may be huge.
func (h header) fits(size uint64) bool {
	const spare = 48
	return h.usable >= size && (h.mapped || h.usable-size < spare)
}

// readHeaders reads headers from the memory of a process with pages of so many bytes. The first page is empty.
func readHeaders(memory io.ReaderAt, page uint64) func(address uint64) (header, bool) {
	word := func(address uint64) (uint64, bool) {
		var raw [8]byte
		if address < page || address >= cpython.UserSpace {
			return 0, false
		}
		_, err := memory.ReadAt(raw[:], int64(address))
		return binary.LittleEndian.Uint64(raw[:]), err == nil
	}
	return func(address uint64) (h header, readable bool) {
		size, ok := word(address - 8)
		if !ok {
			return h, false
		}
		chunk := size &^ flagBits
		h = header{usable: max(chunk, 16) - 16, inUse: true, mapped: size&isMapped != 0}
		if !h.mapped {
			h.usable = max(chunk, 8) - 8 // the next block's first word belongs to this one
			next, ok := word(address - 16 + chunk + 8)
			h.inUse = ok && next&prevInUse != 0
		}
		return h, true
	}
}
