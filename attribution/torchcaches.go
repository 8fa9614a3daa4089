package attribution

import "ipytracer/event"

// largeSegment is the least that PyTorch takes from the driver for blocks above 1 MiB, in bytes. What it takes for
// small blocks (2 MiB) cannot be served from free large ones (c10/cuda/CUDACachingAllocator.h, PyTorch 1.0 to 2.11).
const largeSegment = 20 << 20

// isActive says whether a meter is what PyTorch has handed out on some GPU.
func isActive(m event.Meter) bool { return m.Template() == event.OfDevice(0, event.Active) }

// torchCaches are PyTorch's caching allocators, one on each device of a process.
type torchCaches struct {
	births  *births
	devices map[heldKey]*cache // by process and its meter of handed out memory
	pending map[int32]*pending // by thread
	blocks  map[blockKey]bool  // the driver's blocks that they have
}

func newTorchCaches(b *births) *torchCaches {
	return &torchCaches{births: b, devices: map[heldKey]*cache{}, pending: map[int32]*pending{},
		blocks: map[blockKey]bool{}}
}

// claim follows whose the driver's blocks are, as bpf/torch.h does: PyTorch's, if reserved rises on the same thread by
// just what was taken.
func (tc *torchCaches) claim(c *event.Change) {
	_, kind, isDevice := c.Meter.Device()
	if !isDevice || kind != event.Driver {
		return
	}
	at := blockKey{heldKey{c.PID, c.Meter}, c.Address}
	if c.Size < 0 {
		if tc.blocks[at] {
			tc.cache(c.PID, c.Meter).reserved += c.Size // nobody reports what a cache gives back
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
	if len(p.blocks) < 4096 {
		p.blocks, p.sizes = append(p.blocks, at), append(p.sizes, c.Size)
	}
}

// totals follows PyTorch's totals. The new total of what is handed out comes before that of what is reserved.
func (tc *torchCaches) totals(r *root, c *event.Change) {
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
	if !c.Block { // the value from which it fell
		return
	}
	if rise := c.Size; rise >= largeSegment && c.Value-rise-d.before >= rise {
		d.grown += rise
		d.times++
		if d.first == 0 {
			d.first = c.Time
		}
		if w := tc.births.innermost(r, c); w != nil && w.birth.cell != nil && len(d.births) < maxRuns {
			d.births = append(d.births, w.birth)
		}
	}
	d.reserved = c.Value
	if p != nil {
		tc.claimed(p, c.Size)
		delete(tc.pending, c.TID)
	}
}

// cache is that of the device that a meter is of.
func (tc *torchCaches) cache(pid int32, m event.Meter) *cache {
	number, _, _ := m.Device()
	key := heldKey{pid, event.OfDevice(number, event.Active)}
	d := tc.devices[key]
	if d == nil {
		d = &cache{}
		tc.devices[key] = d
	}
	return d
}

// maxRuns is how many runs of a cell a verdict names.
const maxRuns = 1000

func (tc *torchCaches) claimed(p *pending, rise event.Bytes) {
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
	before           event.Bytes // active, before the last report
	// grown counts how often reserved grew by no more than what lay free in the cache already, and by how much in all.
	grown  event.Bytes
	times  int64
	first  event.Nanoseconds
	births []*birth // of the last of them
}

// pending are the driver's blocks that a thread has taken since PyTorch last reported on it.
type pending struct {
	blocks   []blockKey
	sizes    []event.Bytes
	reported bool
}
