package attribution

import (
	"testing"

	"ipytracer/event"
	"ipytracer/model"
)

// torch is PyTorch's allocator on one GPU, as events show it.
type torch struct {
	*notebook
	active, reserved event.Bytes
}

// segment takes a segment from the driver, with one block at its beginning.
func (p *torch) segment(size, block event.Bytes) uint64 {
	at := p.takeOf(event.OfDevice(0, event.Driver), "torch", 1, size)
	p.block(at, block)
	p.reserved += size
	p.move(event.Change{Meter: event.OfDevice(0, event.Reserved), Value: p.reserved, Size: size, Block: true})
	return at
}

// block hands a block out, or takes it back.
func (p *torch) block(at uint64, size event.Bytes) {
	p.active += size
	p.move(event.Change{Meter: event.OfDevice(0, event.Active), Value: p.active, Size: size, Address: at, Block: true})
}

// PyTorch's cache is fragmented if it takes more from the driver although as much was free in it, and the free parts
// lie between blocks in use. Free segments are the purpose of a cache, and its blocks of the driver never count as the
// cell's.
func TestFragmentationOfPyTorchsCache(t *testing.T) {
	for _, pieces := range []bool{true, false} {
		p := &torch{notebook: newNotebook()}
		var segments []uint64
		for range 3 {
			p.run("train", func() { segments = append(segments, p.segment(100*mib, 100*mib)) })
		}
		p.run("free", func() {
			for _, at := range segments {
				p.block(at, -100*mib)
				if pieces {
					p.block(at+50<<20, 20*mib)
				}
			}
		})
		p.run("more", func() { p.segment(110*mib, 110*mib) })
		a := p.audit(t)
		if pieces {
			if v := only(t, a, model.Fragmentation, 240*mib, 5); v.Count != 1 || v.Meter != "gpu.0.reserved" {
				t.Errorf("%+v", v)
			}
		} else {
			none(t, a)
		}
		for _, h := range a.Held {
			if h.Meter == "gpu.0.driver" {
				t.Errorf("PyTorch's segments are held: %+v", h)
			}
		}
	}
}
