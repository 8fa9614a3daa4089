package ledger

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
)

// Array is a block of NumPy that the ledger knows.
type Array struct {
	Address, Size uint64
	// Doubt: the block may have been freed, because the probes were paused after it was last certain.
	Doubt bool
}

// Blocks are the blocks of NumPy's array data.
type Blocks struct {
	Pages      Pages
	objects    *kernelObjects
	operations *operations
}

// Arrays returns the blocks of the process in slot, in no order, and the present values of its meters.
func (b *Blocks) Arrays(slot uint32) (all []Array, now ArrayMeters, err error) {
	var p kernelProcess
	if err := b.objects.Processes.Lookup(slot, &p); err != nil {
		return nil, now, fmt.Errorf("read slot %d: %w", slot, err)
	}
	const torch = 1 << kernelPlaceKeyADDRESS_BITS // in the keys of PyTorch's blocks
	add := func(key uint64, b *kernelBlock) {
		if key>>slotBit == uint64(slot) && key&torch == 0 && b.Era >= p.FirstEra {
			all = append(all, Array{Address: key & (torch - 1), Size: uint64(b.Size), Doubt: b.Era < p.Era})
		}
	}
	err = errors.Join(
		eachOf(b.objects.Blocks, add),
		eachOf(b.objects.Places, func(_ uint32, at *kernelPlace) { add(at.Key, &at.Block) }),
	)
	if err != nil {
		return nil, now, fmt.Errorf("read the arrays: %w", err)
	}
	return all, metersOf(&p), nil
}

// slotBit is where the slot begins in the keys of blocks and of rules: SLOT_BIT in bpf/wire_blocks.h.
const slotBit = kernelPlaceKeyADDRESS_BITS + 1

// eachOf calls do with each entry of a map. It reads some thousands of entries at a time.
func eachOf[K, V any](m *ebpf.Map, do func(key K, value *V)) error {
	const batch = 4096
	keys, values := make([]K, batch), make([]V, batch)
	var cursor ebpf.MapBatchCursor
	for {
		n, err := m.BatchLookup(&cursor, keys, values, nil)
		for i := range n {
			do(keys[i], &values[i])
		}
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// ArrayMeters are the meters of a process, in bytes.
type ArrayMeters struct{ NumPy, Mapped int64 }

func metersOf(p *kernelProcess) ArrayMeters {
	return ArrayMeters{NumPy: p.Value[kernelMeterMETER_NUMPY], Mapped: p.Value[kernelMeterMETER_MAPPED]}
}

// SettleArray reports to the ledger what a search after a pause found at an address: an array of found bytes, or none
// (0). known is the size that the ledger has for it, 0 if it knows none. done is false if the probes have seen an
// allocation or free there since: then nothing changes.
func (b *Blocks) SettleArray(slot uint32, address, known, found uint64) (done bool, err error) {
	f := kernelFinding{Address: address, Known: int64(known), Found: int64(found), Slot: slot}
	if _, err := b.objects.SettleArray.Run(&ebpf.RunOptions{Context: &f, ContextOut: &f}); err != nil {
		return false, fmt.Errorf("settle an array: %w", err)
	}
	return f.Done != 0, nil
}

// Settled ends the search for arrays in the root to which the process pid belongs, and draws a MeterSettled boundary.
// The root's NumPy meter is off by at most unsure bytes.
func (b *Blocks) Settled(pid int, unsure int64) error {
	_, err := b.operations.run(kernelOperationOP_SETTLED, pid, kernelControl{Unsure: unsure})
	return err
}

// GivePage is [Pages.Give].
func (b *Blocks) GivePage(pid int, blocks Counted) (fd int, err error) {
	return b.Pages.Give(pid, blocks)
}
