package ledger

import (
	"cmp"
	"slices"
	"testing"

	"github.com/cilium/ebpf"

	"ipytracer/event"
)

// placeOf returns the place of a key, as place_of of bpf/places.h does.
func placeOf(key uint64) uint32 {
	return uint32(key * 0x9e3779b97f4a7c15 >> (64 - kernelPlaceKeyPLACE_BITS))
}

// arraysOf are the arrays of an attached process, as the kernel has them.
type arraysOf struct {
	t    *testing.T
	l    *Ledger
	slot uint32
}

// put enters a block.
func (a arraysOf) put(address uint64, b kernelBlock) {
	a.t.Helper()
	key := address | uint64(a.slot)<<slotBit
	place, at := placeOf(key), kernelPlace{Key: key, Block: b}
	if address>>12&2 != 0 { // half of them are in the table, because another block has their place
		at = kernelPlace{Key: key | 1<<kernelPlaceKeyADDRESS_BITS, Block: kernelBlock{Size: 1, Era: b.Era, Spilt: 1}}
		if err := a.l.objects.Blocks.Update(key, b, ebpf.UpdateAny); err != nil {
			a.t.Fatal(err)
		}
	}
	if err := a.l.objects.Places.Update(place, at, ebpf.UpdateAny); err != nil {
		a.t.Fatal(err)
	}
}

func (a arraysOf) process() (p kernelProcess) {
	a.t.Helper()
	if err := a.l.objects.Processes.Lookup(a.slot, &p); err != nil {
		a.t.Fatal(err)
	}
	return p
}

// settle reports a result to the ledger, which must accept or refuse it.
func (a arraysOf) settle(at, known, found uint64, want bool) {
	a.t.Helper()
	if done, err := a.l.Blocks.SettleArray(a.slot, at, known, found); err != nil || done != want {
		a.t.Errorf("%#x from %d to %d: %v, %v", at, known, found, done, err)
	}
}

// TestSettleArrays: known arrays are in doubt after a pause. A search's result counts, but not against a newer one of
// the probes.
func TestSettleArrays(t *testing.T) {
	l := load(t, Options{})
	pid := sleeper(t)
	slot, err := l.Processes.AttachProcess(0, pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	const alive, gone, grown, fresh, made, freed, stale = 0x1000, 0x3000, 0x5000, 0x7000, 0x9000, 0xb000, 0xd000
	a := arraysOf{t, l, slot}
	before := a.process()
	for _, at := range []uint64{alive, gone, grown} {
		a.put(at, kernelBlock{Size: 4096, Era: before.Era})
	}
	a.put(stale, kernelBlock{Size: 4096, Era: before.FirstEra - 1}) // of a process that had the slot earlier
	a.settle(gone, 4096, 0, false)                                  // nothing is in doubt
	if err := l.Accounts.Back(GroupNumPy, pid); err != nil {
		t.Fatal(err)
	}
	after := a.process()
	a.put(fresh, kernelBlock{Size: 4096, Era: after.Era})
	a.put(freed, kernelBlock{Size: int64(after.Era), Era: uint64(kernelNoEraERA_FREE)})
	a.settle(alive, 4096, 4096, true)
	a.settle(alive, 4096, 0, false) // it is certain now
	a.settle(gone, 4096, 0, true)
	a.settle(gone, 4096, 0, false)
	a.settle(grown, 4096, 0, true)
	a.settle(grown, 0, 8192, true) // another block begins there now
	a.settle(fresh, 4096, 0, false)
	a.settle(fresh, 0, 4096, false)
	a.settle(freed, 0, 4096, false) // it was freed after the look at the process
	a.settle(made, 0, 16384, true)
	a.settle(stale, 4096, 0, false)
	all, meters, err := l.Blocks.Arrays(slot)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b Array) int { return cmp.Compare(a.Address, b.Address) })
	want := []Array{{alive, 4096, false}, {grown, 8192, false}, {fresh, 4096, false}, {made, 16384, false}}
	if !slices.Equal(all, want) {
		t.Errorf("arrays %+v, want %+v", all, want)
	}
	if meters.NumPy != -4096+4096+16384 || meters.Mapped == 0 {
		t.Errorf("meters %+v", meters)
	}
	if err := l.Blocks.Settled(pid, 123); err != nil {
		t.Fatal(err)
	}
	var c collected
	poll(t, l, &c)
	consecutive(t, c.boundaries, 3)
	b := c.boundaries[2]
	if b.Kind != event.MeterSettled || b.Unsure[event.UnknownNumPy] != 123 ||
		c.boundaries[0].Unsure[event.UnknownNumPy] != 0 {
		t.Errorf("boundary %+v", b)
	}
	if len(c.changes) != 4 {
		t.Errorf("%d changes, want two of what went, and two of what was made: %+v", len(c.changes), c.changes)
	}
}
