package tracer

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"ipytracer/tracer/ledger"
	"ipytracer/tracer/python/cpython"
	"ipytracer/tracer/python/holders"
)

// While the probes on NumPy are stepped down arrays come and go unseen. When they are back this side looks for all
// arrays that objects of Python's have, and says of each block that the ledger knows whether it is still there:
//
//   - an array has it: it lives, and its size is known. So are arrays that were made meanwhile.
//   - malloc's header in front of it is not that of a block of its size, or the memory is not mapped any more: it has
//     gone.
//   - else nobody can say. It goes on being counted, and the meter is off by at most its bytes.
//
// Arrays that only code in C has are not found; of those made meanwhile nobody can say how many bytes they are, but not
// more than what the process has mapped beyond what is known. So after a pause the meter is never exact again; its
// bound says how far off it can be.

// lookTime is the processor time of one look; the process runs meanwhile, and the probes see what it does.
const lookTime = 20 * time.Second

// restAfterLook times what a look took is how long a pause lasts at least: looking costs the tracer a core.
const restAfterLook = 5

// arrayWaker is what they have of the kernel half: the blocks that it knows, and who waits for records is woken.
type arrayWaker interface {
	arrayTable
	Wake() error
}

// searches are those of all roots.
type searches struct {
	kernel  arrayWaker
	log     *slog.Logger
	report  *certificate
	running sync.WaitGroup
}

// begin starts to look through the targets of a root.
func (all *searches) begin(targets []*target, root uint32, r *steps, before bool) {
	if r.looks != nil {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), 3*lookTime)
	l := &looks{done: make(chan look, len(targets)), stop: stop}
	for _, t := range targets {
		if t.root != root || t.gone || t.python == nil || before && (!t.late || t.before != nil) {
			continue
		}
		l.left++
		live := t.python.live
		all.running.Go(func() {
			one := look{target: t, before: before, began: time.Now()}
			one.found, one.err = holders.Arrays(ctx, live, leastArray, holders.Limits{Time: lookTime})
			one.took = time.Since(one.began)
			l.done <- one
			_ = all.kernel.Wake()
		})
	}
	r.looks = l
}

// leastArray is the smallest block that counts, in bytes, where small ones do not.
const leastArray = 1024

// takeIn takes in what was found.
func (all *searches) takeIn(targets []*target, roots map[uint32]*steps) {
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

// take takes in what was found in one target.
func (all *searches) take(r *steps, one look) {
	t := one.target
	all.log.Debug("looked for arrays", "pid", t.pid, "arrays", len(one.found.Blocks), "complete", one.found.Complete,
		"took", one.took, "error", one.err)
	if t.gone {
		return
	}
	known, meters, err := all.kernel.Arrays(t.slot)
	if err != nil {
		all.report.problem("the arrays of pid %d: %v", t.pid, err)
		r.looks.spoilt = true
		return
	}
	if one.before {
		if one.err == nil && one.found.Complete {
			t.before = unknownArrays(one.found.Blocks, known)
		}
		return
	}
	if r.looks.spoilt {
		return
	}
	headers := readHeaders(t.python.memory, uint64(os.Getpagesize()))
	counted, left := judgeArrays(one.found.Blocks, known, headers, arraysBefore(t))
	for _, f := range counted {
		if _, err := all.kernel.SettleArray(t.slot, f.address, f.known, f.found); err != nil {
			all.report.problem("the arrays of pid %d: %v", t.pid, err)
			r.looks.spoilt = true
			return
		}
	}
	if _, meters, err = all.kernel.Arrays(t.slot); err != nil {
		r.looks.spoilt = true
		return
	}
	r.looks.unsure += int64(left) + max(0, meters.Mapped-meters.NumPy)
}

// arraysBefore says whether an array may be one from before the session, of which the meter says nothing.
func arraysBefore(t *target) func(address uint64) bool {
	return func(address uint64) bool { return t.late && (t.before == nil || t.before[address]) }
}

func unknownArrays(found []holders.Block, known []ledger.Array) map[uint64]bool {
	all := map[uint64]bool{}
	for _, b := range found {
		all[b.Address] = true
	}
	for _, a := range known {
		delete(all, a.Address)
	}
	return all
}

// end ends a search: windows that open from now on have the narrower bound.
func (all *searches) end(targets []*target, root uint32, r *steps) {
	l := r.looks
	r.looks = nil
	l.stop()
	if l.spoilt || slices.Contains(r.down, ledger.GroupNumPy) {
		return
	}
	for _, t := range targets {
		if t.root == root && !t.gone && all.kernel.Settled(t.pid, l.unsure) == nil {
			all.log.Debug("the account of arrays is settled", "pid", t.pid, "unsure", l.unsure)
			return
		}
	}
}

// stop ends every search.
func (all *searches) stop(roots map[uint32]*steps) {
	for _, r := range roots {
		if r.looks != nil {
			r.looks.stop()
		}
	}
	all.running.Wait()
}

// verdict is what was found out about a block.
type verdict struct{ address, known, found uint64 }

// judgeArrays compares the blocks that the ledger knows with those that arrays have. It returns what is certain, and
// how many bytes of the blocks in doubt may have gone.
func judgeArrays(found []holders.Block, known []ledger.Array,
	header func(address uint64) (header, bool), before func(uint64) bool) (out []verdict, left uint64) {
	there := make(map[uint64]uint64, len(found))
	for _, b := range found {
		there[b.Address] = b.Size
	}
	glibc, inDoubt := true, map[uint64]bool{}
	for _, a := range known {
		size, ok := there[a.Address]
		if ok && size == a.Size { // such a one says whether malloc is glibc's
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
		case ok && size <= a.Size: // what its array spans can be less than what it has
			out = append(out, verdict{a.Address, a.Size, a.Size})
			left += a.Size - size
		case ok:
			out = append(out, verdict{a.Address, a.Size, size})
		case !readable, glibc && !(h.fits(a.Size) && h.inUse):
			out = append(out, verdict{a.Address, a.Size, 0})
		default:
			left += a.Size
		}
	}
	for _, b := range found {
		if _, ok := inDoubt[b.Address]; ok || before(b.Address) {
			continue
		}
		if h, readable := header(b.Address); readable && (!glibc || h.usable >= b.Size) {
			out = append(out, verdict{b.Address, 0, b.Size})
		}
	}
	return out, left
}

// header is what glibc's malloc keeps in front of a block: malloc_chunk.mchunk_size (malloc/malloc.c), whose lowest
// bits are PREV_INUSE, IS_MMAPPED and NON_MAIN_ARENA.
type header struct {
	usable uint64 // bytes that may be used
	inUse  bool   // as far as the next block says; true for one that was mapped for itself
	mapped bool
}

const (
	prevInUse = 1
	isMapped  = 2
	flagBits  = 7
)

// fits says whether malloc gives such a block to one who asks for so many bytes. It may leave as much as does not make
// a block, and what is mapped for itself is whole pages, which may be huge ones.
func (h header) fits(size uint64) bool {
	const spare = 48
	return h.usable >= size && (h.mapped || h.usable-size < spare)
}

// readHeaders reads headers out of the memory of a process with pages of so many bytes. Nothing is in the first page.
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
			h.usable = max(chunk, 8) - 8 // the next block's first word is this one's
			next, ok := word(address - 16 + chunk + 8)
			h.inUse = ok && next&prevInUse != 0
		}
		return h, true
	}
}
