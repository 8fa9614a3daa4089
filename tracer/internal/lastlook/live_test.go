package lastlook

import (
	"slices"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

func TestLive(t *testing.T) {
	active := event.OfDevice(1, event.Active)
	var l Live
	for _, c := range []event.Change{
		{PID: 1, Meter: event.NumPy, Size: 8192, Address: 0x1000},
		{PID: 1, Meter: event.NumPy, Size: 4095, Address: 0x9000}, // too small
		{PID: 1, Meter: event.NumPy, Size: 5000, Address: 0x20000},
		{PID: 1, Meter: event.NumPy, Size: -5000, Address: 0x20000},
		{PID: 1, Meter: event.NumPy, Size: -9000, Address: 0x30000}, // allocated before the session
		{PID: 2, Meter: event.NumPy, Size: 8192, Address: 0x1000},
		{PID: 1, Meter: event.Pinned, Size: 4096, Address: 0x40000},
		{PID: 1, Meter: event.Torch, Size: 4096, Address: 0x48000},
		{PID: 1, Meter: active, Size: 1 << 20, Address: 0x50000, Block: true},
		{PID: 1, Meter: active, Size: 1 << 20, Address: 0x60000}, // only the total
		{PID: 1, Meter: event.OfDevice(1, event.Driver), Size: 2 << 20, Address: 0x50000},
		{PID: 1, Meter: event.Mapped, Value: 1 << 20},
	} {
		l.Change(&c)
	}
	check := func(what string, want ...objects.Block) {
		t.Helper()
		if got := l.blocksOf(1); !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	torch := objects.Block{Address: 0x48000, Size: 4096}
	numpy, pinned, tensor := objects.Block{Address: 0x1000, Size: 8192}, objects.Block{Address: 0x40000, Size: 4096},
		objects.Block{Address: 0x50000, Size: 1 << 20}
	check("at first", numpy, pinned, torch, tensor)
	l.Boundary(&event.Boundary{Kind: event.CellClose, PID: 1})
	l.Boundary(&event.Boundary{Kind: event.MeterShed, PID: 1})
	check("after a cell and NumPy shed", numpy, pinned, torch, tensor)
	l.Boundary(&event.Boundary{Kind: event.MeterShed, PID: 1, Group: event.TensorStacks})
	check("PyTorch's blocks shed", numpy, pinned, torch)
	l.Boundary(&event.Boundary{Kind: event.ProcessExec, PID: 1})
	check("another program")
	if got := l.blocksOf(2); len(got) != 1 {
		t.Errorf("another process: %+v", got)
	}
}

// TestLiveIsBounded allocates more blocks than are kept: the large ones stay.
func TestLiveIsBounded(t *testing.T) {
	for _, size := range []event.Bytes{4096, 1 << 20} {
		var l Live
		for i := range uint64(2*maxLive + 10) {
			c := event.Change{PID: 1, Meter: event.NumPy, Address: 0x1000 + i<<13, Size: size}
			if i%1000 == 0 {
				c.Size = 8 << 20
			}
			l.Change(&c)
			if len(l.blocks) > maxLive {
				t.Fatalf("%d blocks", len(l.blocks))
			}
		}
		large := 0
		for _, b := range l.blocksOf(1) {
			if b.Size == 8<<20 {
				large++
			}
		}
		if want := 2*maxLive/1000 + 1; large != want || !l.crowded || len(l.blocks) < maxLive/2 {
			t.Errorf("%d of %d large blocks were kept, %d in all, crowded %v", large, want, len(l.blocks), l.crowded)
		}
	}
}
