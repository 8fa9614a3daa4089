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
//   - An array has it: it is live, and its size is known. Arrays that were allocated meanwhile are found, too.
//   - malloc's header in front of it is not that of a block of its size, or the memory is not mapped any more: it was
//     freed.
//   - Else it is in doubt. It is still counted, and the meter is off by at most its bytes.
//
// Arrays that only C code holds are not found. The size of those that were allocated meanwhile is unknown, but it is at
// most the memory that the process has mapped beyond the known blocks. So after a pause the meter is never exact again;
// its bound says how far off it can be.

// lookTime is the processor time of one look; meanwhile the process runs, and the probes see its allocations.
const lookTime = 20 * time.Second

// restAfterLook is the least length of a pause, in multiples of the time of a look: looking costs the tracer a core.
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

// Begin starts to search the targets of a root.
func (all *Searches) Begin(targets []*tracee.Target, root uint32, r *Pauses, before bool) {
	if r.looks != nil {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), tracee.HeldUp*lookTime)
	l := &looks{done: make(chan look, len(targets)), stop: stop}
	for _, t := range targets {
		if t.Root != root || t.Gone || t.Python == nil || before && (!t.Late || t.Before != nil) {
			continue
		}
		l.left++
		live := t.Python.Live
		all.running.Go(func() {
			one := look{target: t, before: before, began: time.Now()}
			one.found, one.err = holders.Arrays(ctx, live, leastArray, objects.Limits{Time: lookTime})
			one.took = time.Since(one.began)
			l.done <- one
			_ = all.kernel.Wake()
		})
	}
	r.looks = l
}

// leastArray is the smallest block that counts, in bytes, where small ones do not.
const leastArray = 1024

// TakeIn processes the results of the searches.
func (all *Searches) TakeIn(targets []*tracee.Target, roots map[uint32]*Pauses) {
	for root, r := range roots {
		for r.looks != nil {
			if r.looks.left == 0 {
				all.end(targets, root, r)
				break
			}
			select {
			case one := <-r.looks.done:
				r.looks.left--
				r.rest = max(r.rest, restAfterLook*one.took)
				all.take(r, one)
				continue
			default:
			}
			break
		}
	}
}

// take processes the result for one target.
func (all *Searches) take(r *Pauses, one look) {
	t := one.target
	all.log.Debug("looked for arrays", "pid", t.PID, "arrays", len(one.found.Blocks), "complete", one.found.Complete,
		"took", one.took, "error", one.err)
	if t.Gone {
		return
	}
	known, meters, err := all.kernel.Arrays(t.Slot)
	if err != nil {
		all.report.Problem("the arrays of pid %d: %v", t.PID, err)
		r.looks.spoilt = true
		return
	}
	if one.before {
		if one.err == nil && one.found.Complete {
			t.Before = unknownArrays(one.found.Blocks, known)
		}
		return
	}
	if r.looks.spoilt {
		return
	}
	headers := readHeaders(t.Python.Memory, uint64(os.Getpagesize()))
	counted, left := judgeArrays(one.found.Blocks, known, headers, arraysBefore(t))
	for _, f := range counted {
		if _, err := all.kernel.SettleArray(t.Slot, f.address, f.known, f.found); err != nil {
			all.report.Problem("the arrays of pid %d: %v", t.PID, err)
			r.looks.spoilt = true
			return
		}
	}
	if _, meters, err = all.kernel.Arrays(t.Slot); err != nil {
		r.looks.spoilt = true
		return
	}
	r.looks.unsure += int64(left) + max(0, meters.Mapped-meters.NumPy)
}

// arraysBefore returns a function that reports whether an array may be from before the session, and so not in the
// meter.
func arraysBefore(t *tracee.Target) func(objects.Block) bool {
	return func(b objects.Block) bool { return t.Late && (t.Before == nil || t.Before[b.Address] == b.Size) }
}

// unknownArrays returns the sizes of arrays that the ledger does not know, by address. An array of another size at such
// an address is another one.
func unknownArrays(found []objects.Block, known []ledger.Array) map[uint64]uint64 {
	all := map[uint64]uint64{}
	for _, b := range found {
		all[b.Address] = b.Size
	}
	for _, a := range known {
		delete(all, a.Address)
	}
	return all
}

// end ends a search: windows that open from now on have the narrower bound.
func (all *Searches) end(targets []*tracee.Target, root uint32, r *Pauses) {
	l := r.looks
	r.looks = nil
	l.stop()
	if l.spoilt || slices.Contains(r.Groups, ledger.GroupNumPy) {
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
		if r.looks != nil {
			r.looks.stop()
		}
	}
	all.running.Wait()
}

// verdict is the result for a block.
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

// fits reports whether malloc returns such a block for a request of size bytes. It may leave a rest that is too small
// for a block. A block with its own mapping consists of whole pages, which may be huge ones.
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
