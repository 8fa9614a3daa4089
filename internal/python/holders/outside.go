package holders

import (
	"slices"

	"ipytracer/internal/python/cpython"
)

// outside has the objects that lead out of a root's own ones: modules, the globals of functions, frames that run,
// classes of instances. References there are deferred: they are followed once all roots are.
type outside struct {
	read      reader
	deferred  []edge
	deferring bool
	spaces    map[uint64]bool // the namespaces of modules
	running   map[uint64]bool // frames
	cells     map[uint64]bool // those of threads that run cells, see [Limits.Running]
	classed   map[uint64]bool // classes that have been deferred
	// named knows which objects are names of modules other than __main__, as far as a survey has met them; nil for no
	// survey.
	named map[uint64]bool
}

func newOutside(r reader) outside {
	return outside{read: r, spaces: map[uint64]bool{}, running: map[uint64]bool{}, classed: map[uint64]bool{}}
}

// defers keeps a reference for later.
func (o *outside) defers(from int32, to uint64, l label) {
	if len(o.deferred) < o.read.limits.Objects {
		o.deferred = append(o.deferred, edge{to: to, label: l, parent: from})
	} else {
		o.read.stopped = errObjects
	}
}

// deferClass defers the reference of an instance to its class: of each class once.
func (o *outside) deferClass(n int32, class uint64) {
	if !o.classed[class] {
		o.classed[class] = true
		o.defers(n, class, named(fixedClass))
	}
}

// leadsOut reports whether an object is a way from a root's own objects to everything else.
func (o *outside) leadsOut(addr uint64, t *typ) bool {
	switch t.shape {
	case shapeModule:
		return true
	case shapeDict:
		return o.spaces[addr]
	case shapeFrame:
		holds := uint64(o.read.heap.FrameHolds)
		return o.running[addr] || holds != 0 && o.running[o.read.mem.word(addr+holds)]
	case shapeType:
		if o.read.mem.word(addr+cpython.TypeFlags)&cpython.FlagHeapType == 0 {
			return true
		}
		return o.foreign(o.read.lookup(o.read.mem.word(addr+cpython.TypeDict), "__module__"))
	case shapeFunction:
		return o.foreign(o.read.mem.word(addr + uint64(o.read.heap.FuncModule)))
	}
	if t.name == lruCache {
		return o.foreign(o.read.attribute(addr, t, "__module__"))
	}
	return t.shell
}

// foreign reports whether an object is the name of a module other than __main__: one that many functions and classes
// have.
func (o *outside) foreign(name uint64) bool {
	const most = 1 << 12
	is, known := o.named[name]
	if !known {
		text, ok := o.read.text(name, maxName)
		if is = ok && text != "__main__"; o.named != nil && len(o.named) < most {
			o.named[name] = is
		}
	}
	return is
}

// notedOut is leadsOut for an object that the survey has seen.
func (o *outside) notedOut(addr uint64, one *noted, t *typ) bool {
	if t.shape == shapeType || t.shape == shapeFunction || t.name == lruCache {
		return one.is(noteOut)
	}
	return o.leadsOut(addr, t)
}

// thread is a thread of the interpreter: its PyThreadState and its frames, the innermost first.
type thread struct {
	addr   uint64
	frames []uint64
}

// readThreads reads the frames that run.
func (o *outside) readThreads() (all []thread) {
	const most = 1 << 12
	state := o.read.mem.word(o.read.heap.Interpreter + uint64(o.read.heap.InterpThreadsHead))
	next := uint64(o.read.heap.ThreadNext)
	for ; state != 0 && len(all) < most && !o.read.spent(); state = o.read.mem.word(state + next) {
		f := o.read.mem.word(state + uint64(o.read.heap.ThreadFrame))
		if o.read.heap.FrameKind == cpython.FrameCFrame {
			f = o.read.mem.word(f + uint64(o.read.heap.CFrameCurrent))
		}
		one := thread{addr: state}
		for f != 0 && f&7 == 0 && !o.running[f] && len(o.running) < maxFrames && !o.read.spent() {
			o.running[f] = true
			if slices.Contains(o.read.limits.Running, state) {
				if o.cells == nil {
					o.cells = map[uint64]bool{}
				}
				o.cells[f] = true
			}
			one.frames = append(one.frames, f)
			f = o.read.mem.word(f + uint64(o.read.heap.FrameBack))
		}
		all = append(all, one)
	}
	return all
}
