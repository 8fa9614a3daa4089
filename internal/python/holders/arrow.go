package holders

import (
	"strings"

	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// arrow adds the memory of an object of pyarrow's: the C++ objects that it shares, and their buffers, as nodes.
func (e *extents) arrow(n int32, obj uint64, t *objects.Type) {
	s := &sharedWalk{e: e, Walker: e.Walker}
	found := false
	objects.EachShared(e.Types, obj, t, func(p objects.SharedPointer) {
		s.refer(n, p)
		found = true
	})
	if !found {
		return
	}
	e.unknown[n] = false
	for len(s.waiting) > 0 && !s.Done() {
		last := len(s.waiting) - 1
		next := s.waiting[last]
		s.waiting = s.waiting[:last]
		s.look(next)
	}
}

// sharedWalk is a walk over the C++ objects behind one object of pyarrow's.
type sharedWalk struct {
	e *extents
	*walk.Walker
	waiting []sharedNode
}

// sharedNode is a C++ object that has been reached, and its node.
type sharedNode struct {
	objects.SharedPointer
	node int32
}

// refer follows a reference from a node to a C++ object.
func (s *sharedWalk) refer(from int32, p objects.SharedPointer) {
	if n, isNew := s.e.native(from, p.Counts, 0, p.Uses); isNew {
		s.waiting = append(s.waiting, sharedNode{p, n})
	}
}

// look adds an object's own memory, with vectors of shared pointers and a buffer's data, and follows the references to
// objects that it shares with others.
func (s *sharedWalk) look(o sharedNode) {
	own, behind := objects.BehindShared(s.Types, o.SharedPointer)
	s.e.bytes[o.node] += own
	if behind == 0 { // of an allocator with unknown sizes
		s.e.unknown[o.node] = true
		return
	}
	if strings.Contains(s.Class(s.Mem.Word(o.Object)), "Buffer") {
		s.buffer(o, behind)
	}
	refer := func(p objects.SharedPointer) bool {
		s.refer(o.node, p)
		return s.Stopped == nil
	}
	addVector := func(v objects.SharedVector) bool {
		if v.End-v.Begin > objects.MaxShared {
			s.e.unknown[o.node] = true
			return false
		}
		bytes, known := s.Sizes.Buffer(v.Begin, v.Reserved-v.Begin)
		s.e.bytes[o.node] += bytes
		s.e.unknown[o.node] = s.e.unknown[o.node] || !known
		return true
	}
	objects.ScanShared(s.Walker.Types, o.Object, behind, refer, addVector)
}

// buffer adds the memory of a buffer. An arrow::PoolBuffer has its capacity from a pool. A buffer of pyarrow's refers
// to the Python object that has the memory. A slice shares the memory of its parent buffer. The memory of all other
// buffers is unknown.
func (s *sharedWalk) buffer(o sharedNode, bytes uint64) {
	switch {
	case objects.IsPoolBuffer(s.Types, o.Object):
		b, ok := objects.PoolBufferAt(s.Types, o.Object)
		known := false
		if ok {
			_, known = s.Sizes.Buffer(b.Data, b.Capacity)
		}
		s.e.unknown[o.node] = !known
		if known && b.Capacity > 0 {
			s.e.bytes[o.node] += b.Capacity
			s.e.enlarge(o.node, b.Capacity)
			s.e.data[o.node] = b.Data
		}
	case strings.HasPrefix(s.Class(s.Mem.Word(o.Object)), "N5arrow2py"):
		s.e.unknown[o.node] = !walk.PythonsOf(s.Walker, o.node, o.Object, bytes)
	default:
		_, isSlice := objects.SharedAt(s.Types, o.Object+objects.BufferParent)
		s.e.unknown[o.node] = !isSlice && s.Mem.Word(o.Object+objects.BufferSize) > 0
	}
}
