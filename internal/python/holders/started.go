package holders

import (
	"ipytracer/event"
	"ipytracer/internal/python/cpython"
)

// ends are the classes of objects that have started processes, by a class of theirs and its module, with the method
// that ends these processes.
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

// kept are the attributes under which these objects, and those that they are made of, keep their processes: of
// multiprocessing, concurrent.futures and distributed.
var kept = []string{"cluster", "workers", "_pool", "_processes", "process", "_process", "_popen"}

// Bounds of a search for processes.
const (
	maxStarted   = 256  // processes of an object
	deepestStart = 10   // from a client of dask to the number of a process
	maxStarts    = 4096 // objects on the way
)

// describeStarted fills in the processes that an object has started, and the method of its that ends them.
func (l *lister) describeStarted(r *event.Variable, addr uint64, t *typ) {
	by := endedBy(l, t)
	if by == "" {
		return
	}
	s := starts{reader: l.reader, left: maxStarts}
	s.from(addr, 0)
	if len(s.pids) > 0 {
		r.EndedBy, r.PIDs = by, s.pids
	}
}

// endedBy returns the method that ends the processes of an object, by its type; "" if it has started none.
func endedBy(l *lister, t *typ) event.EndMethod {
	of := l.lineage(t)
	for _, e := range ends {
		if of.is(e.class) && derives(l, t, e.class, e.module) {
			return e.by
		}
	}
	return ""
}

// derives reports whether the first of a type's bases with a name is of a module; the type is the first of them.
func derives(l *lister, t *typ, class, module string) bool {
	for n := 0; t != nil && n < maxBases; n++ {
		if t.name == class {
			return l.isOfModule(t.addr, module)
		}
		if t.up == t.addr {
			return false
		}
		t = l.typeAt(t.up)
	}
	return false
}

// isOfModule reports whether a class is of a module.
func (l *lister) isOfModule(class uint64, module string) bool {
	dict := l.mem.word(class + cpython.TypeDict)
	if !l.isShape(dict, shapeDict) {
		return false
	}
	name, _ := l.text(l.lookup(dict, "__module__"), maxName)
	return name == module
}

// starts is a search for the processes of an object.
type starts struct {
	reader
	left int // objects
	pids []int32
}

// from takes in the processes of an object: its own, or those of the objects that it keeps.
func (s *starts) from(addr uint64, depth int) {
	t := s.objectType(addr)
	if s.left--; t == nil || s.left < 0 || depth > deepestStart || len(s.pids) == maxStarted {
		return
	}
	switch t.shape {
	case shapeList:
		n := min(s.mem.word(addr+uint64(s.heap.ListSize)), maxStarted)
		s.mem.words(s.mem.word(addr+uint64(s.heap.ListItems)), n, func(_, item uint64) bool {
			s.from(item, depth+1)
			return s.left > 0
		})
		return
	case shapeDict:
		s.entries(addr, func(_, value uint64) bool {
			s.from(value, depth+1)
			return s.left > 0
		})
		return
	}
	if pid := s.attribute(addr, t, "pid"); s.isNumber(pid) {
		if n, ok := s.integer(pid); ok && n > 0 && n <= maxPID {
			s.pids = append(s.pids, int32(n))
		}
		return
	}
	for _, name := range kept {
		if of := s.attribute(addr, t, name); of != 0 {
			s.from(of, depth+1)
		}
	}
}

// maxPID is the largest number of a process (PID_MAX_LIMIT in include/linux/threads.h).
const maxPID = 1 << 22
