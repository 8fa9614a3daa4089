package holders

import (
	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// ends has the classes whose objects start processes, with their modules and the methods that end the processes.
var ends = []struct {
	class, module string
	by            event.EndMethod
}{
	{"Popen", "subprocess", event.EndTerminate},
	{"Process", "asyncio.subprocess", event.EndTerminate},
	{"BaseProcess", "multiprocessing.process", event.EndTerminate},
	{"Pool", "multiprocessing.pool", event.EndTerminate},
	{"ProcessPoolExecutor", "concurrent.futures.process", event.EndShutdown},
	{"Client", "distributed.client", event.EndClose},
	{"Cluster", "distributed.deploy.cluster", event.EndClose},
}

// processAttributes are the attributes that lead from an object of such a class to its processes, in multiprocessing,
// concurrent.futures and distributed.
var processAttributes = []string{"cluster", "workers", "_pool", "_processes", "process", "_process", "_popen"}

// Bounds of a search for processes.
const (
	maxStarted   = 256  // processes of an object
	deepestStart = 10   // from a client of dask to the number of a process
	maxStarts    = 4096 // objects on the way
)

// describeStarted fills in the processes that an object has started, and the object's method that ends them.
func (l *lister) describeStarted(r *event.Variable, addr uint64, t *objects.Type) {
	by := endedBy(l, t)
	if by == "" {
		return
	}
	s := starts{Reader: l.Reader, left: maxStarts}
	s.gather(addr, 0)
	if len(s.pids) > 0 {
		r.EndedBy, r.PIDs = by, s.pids
	}
}

// endedBy returns the method that ends the processes of an object, by its type; "" if it has started none.
func endedBy(l *lister, t *objects.Type) event.EndMethod {
	lineage := l.Lineage(t)
	for _, e := range ends {
		if lineage.Is(e.class) && derives(l, t, e.class, e.module) {
			return e.by
		}
	}
	return ""
}

// derives reports whether a type is, or derives from, a class of a module. Of the classes with that name it looks at
// the first.
func derives(l *lister, t *objects.Type, class, module string) bool {
	for base := range l.Bases(t) {
		if base.Name == class {
			return l.isOfModule(base.Addr, module)
		}
	}
	return false
}

// isOfModule reports whether a class is of a module.
func (l *lister) isOfModule(class uint64, module string) bool {
	dict := l.Mem.Word(class + cpython.TypeDict)
	if !l.IsShape(dict, objects.ShapeDict) {
		return false
	}
	name, _ := l.Text(l.Lookup(dict, "__module__"), objects.MaxName)
	return name == module
}

// starts is a search for the processes of an object.
type starts struct {
	objects.Reader
	left int // objects that may still be looked at
	pids []int32
}

// gather gathers the processes of an object: its own, or those of the objects that it keeps.
func (s *starts) gather(addr uint64, depth int) {
	t := s.ObjectType(addr)
	if s.left--; t == nil || s.left < 0 || depth > deepestStart || len(s.pids) == maxStarted {
		return
	}
	switch t.Shape {
	case objects.ShapeList:
		n := min(s.Mem.Word(addr+uint64(s.Heap.ListSize)), maxStarted)
		s.Mem.Words(s.Mem.Word(addr+uint64(s.Heap.ListItems)), n, func(_, item uint64) bool {
			s.gather(item, depth+1)
			return s.left > 0
		})
		return
	case objects.ShapeDict:
		s.Entries(addr, func(_, value uint64) bool {
			s.gather(value, depth+1)
			return s.left > 0
		})
		return
	}
	if pid := s.Attribute(addr, t, "pid"); s.IsNumber(pid) {
		if n, ok := s.Integer(pid); ok && n > 0 && n <= maxPID {
			s.pids = append(s.pids, int32(n))
		}
		return
	}
	for _, name := range processAttributes {
		if value := s.Attribute(addr, t, name); value != 0 {
			s.gather(value, depth+1)
		}
	}
}

// maxPID is the largest number of a process (PID_MAX_LIMIT in include/linux/threads.h).
const maxPID = 1 << 22
