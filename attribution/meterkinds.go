package attribution

import (
	"ipytracer/event"
)

// counted says whether every block of a meter is in the change stream.
func counted(m event.Meter) bool {
	if isArray(m) || m == event.Pinned || m == event.Mapped || m == event.Heap {
		return true
	}
	_, kind, ok := m.Device()
	return ok && kind == event.Driver || isActive(m)
}

// isActive says whether a meter is what PyTorch has handed out on some GPU.
func isActive(m event.Meter) bool {
	_, kind, ok := m.Device()
	return ok && kind == event.Active
}

// isHeap says whether a meter is what malloc has handed out.
func isHeap(m event.Meter) bool { return m == event.Heap }

func isNumPy(m event.Meter) bool { return m == event.NumPy }

func isTorch(m event.Meter) bool { return m == event.Torch }

// isArray says whether a meter is data of arrays or tensors on the CPU.
func isArray(m event.Meter) bool { return isNumPy(m) || isTorch(m) }
