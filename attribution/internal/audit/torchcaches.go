package audit

import (
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// largeSegment is the least, in bytes, that PyTorch allocates from the driver for blocks above 1 MiB. Its allocations
// for small blocks (2 MiB) cannot be served from free large ones (c10/cuda/CUDACachingAllocator.h, PyTorch 1.0 to
// 2.11).
const largeSegment = 20 << 20

// torchCaches are PyTorch's caching allocators, one on each device of a process.
type torchCaches struct {
	births  *births
	devices map[course.Key]*cache    // by pid and the device's meter Active
	pending map[int32]*pending       // by TID
	blocks  map[stacks.BlockKey]bool // blocks of the driver that belong to caches
}

func newTorchCaches(b *births) *torchCaches {
	return &torchCaches{births: b, devices: map[course.Key]*cache{}, pending: map[int32]*pending{},
		blocks: map[stacks.BlockKey]bool{}}
}

// addPending takes in a block of the driver that a thread allocates or frees. The block is PyTorch's if the reserved
// total then rises on the same thread by exactly the block's size, as in bpf/torch.h.
func (tc *torchCaches) addPending(c *event.Change) {
	_, kind, isDevice := c.Meter.Device()
	if !isDevice || kind != event.Driver {
		return
	}
	at := stacks.BlockKey{Key: course.Key{PID: c.PID, Meter: c.Meter}, Address: c.Address}
	if c.Size < 0 {
		if tc.blocks[at] {
			tc.cache(c.PID, c.Meter).reserved += c.Size // the frees of a cache are not reported
			delete(tc.blocks, at)
		}
		return
	}
	p := tc.pending[c.TID]
	if p == nil {
		p = &pending{}
		tc.pending[c.TID] = p
	}
	if p.reported {
		*p = pending{}
	}
	if len(p.blocks) < maxPending {
		p.blocks, p.sizes = append(p.blocks, at), append(p.sizes, c.Size)
	}
}

// followTotals follows PyTorch's totals. PyTorch reports the new active total before the new reserved total.
func (tc *torchCaches) followTotals(r *windows.Tree, c *event.Change) {
	_, kind, isDevice := c.Meter.Device()
	if !isDevice || kind != event.Active && kind != event.Reserved {
		return
	}
	d, p := tc.cache(c.PID, c.Meter), tc.pending[c.TID]
	if kind == event.Active {
		d.before, d.active = d.active, c.Value
		if p != nil {
			p.reported = true
		}
		return
	}
	if c.Learned {
		d.reserved = c.Value
		return
	}
	if !c.Block { // this change only reports a value from which the total fell
		return
	}
	if rise := c.Size; rise >= largeSegment && c.Value-rise-d.before >= rise {
		d.grown += rise
		d.times++
		if d.first == 0 {
			d.first = c.Time
		}
		if w := tc.births.innermost(r, c); w != nil && w.Birth.Cell != nil && len(d.births) < maxRuns {
			d.births = append(d.births, w.Birth)
		}
	}
	d.reserved = c.Value
	if p != nil {
		tc.claimPending(p, c.Size)
		delete(tc.pending, c.TID)
	}
}

// cache returns the cache of a meter's device, and adds it if it is new.
func (tc *torchCaches) cache(pid int32, m event.Meter) *cache {
	number, _, _ := m.Device()
	key := course.Key{PID: pid, Meter: event.OfDevice(number, event.Active)}
	d := tc.devices[key]
	if d == nil {
		d = &cache{}
		tc.devices[key] = d
	}
	return d
}

// maxRuns is the largest number of runs of a cell that a verdict names.
const maxRuns = 1000

// maxPending bounds the blocks of a thread that wait for PyTorch's report.
const maxPending = 4096

// claimPending marks the pending blocks as PyTorch's, if all of them, or the last one, have the size of the rise.
func (tc *torchCaches) claimPending(p *pending, rise event.Bytes) {
	sum := event.Bytes(0)
	for _, size := range p.sizes {
		sum += size
	}
	blocks := p.blocks
	if n := len(blocks); sum != rise && n > 0 && p.sizes[n-1] == rise {
		blocks = blocks[n-1:]
	} else if sum != rise {
		return
	}
	for _, at := range blocks {
		tc.blocks[at] = true
	}
}

// cache is PyTorch's caching allocator on one device.
type cache struct {
	active, reserved event.Bytes
	before           event.Bytes // active before the last report
	// grown is the sum of the rises of reserved when as much was free in the cache already.
	grown  event.Bytes
	times  int64             // number of such rises
	first  event.Nanoseconds // time of the first such rise
	births []*windows.Birth  // of such rises, up to maxRuns
}

// pending are the driver's blocks that a thread has allocated since PyTorch's last report there.
type pending struct {
	blocks   []stacks.BlockKey
	sizes    []event.Bytes
	reported bool // PyTorch has reported its active total since: the next block begins anew
}
