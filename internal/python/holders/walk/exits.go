package walk

import (
	"slices"

	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// exits has the objects that lead out of a root's own ones: modules, the globals of functions, frames that run,
// classes of instances. References there are deferred: they are followed once all roots are.
type exits struct {
	read       objects.Reader
	deferred   []edge
	Deferring  bool
	keys       []edge          // keys of dicts: a shorter way than the one with more meaning
	Spaces     map[uint64]bool // the namespaces of modules
	Running    map[uint64]bool // frames
	CellFrames map[uint64]bool // those of threads that run cells, see [objects.Limits.Running]
	classed    map[uint64]bool // classes that have been deferred
	// named knows which objects are names of modules other than __main__, as far as a survey has met them; nil for no
	// survey.
	named map[uint64]bool
}

// NewExits returns the exits of a walk that has met none.
func NewExits(r objects.Reader) exits {
	return exits{read: r, Spaces: map[uint64]bool{}, Running: map[uint64]bool{}, classed: map[uint64]bool{}}
}

// defers keeps a reference for later.
func (o *exits) defers(from int32, to uint64, l Label) {
	if len(o.deferred) < o.read.Limits.Objects {
		o.deferred = append(o.deferred, edge{To: to, Label: l, Parent: from})
	} else {
		o.read.Stopped = objects.ErrObjects
	}
}

// deferClass defers the reference of an instance to its class: of each class once.
func (o *exits) deferClass(n int32, class uint64) {
	if !o.classed[class] {
		o.classed[class] = true
		o.defers(n, class, named(fixedClass))
	}
}

// LeadsOut reports whether an object is a way from a root's own objects to everything else.
func (o *exits) LeadsOut(addr uint64, t *objects.Type) bool {
	switch t.Shape {
	case objects.ShapeModule:
		return true
	case objects.ShapeDict:
		return o.Spaces[addr]
	case objects.ShapeFrame:
		holds := uint64(o.read.Heap.FrameHolds)
		return o.Running[addr] || holds != 0 && o.Running[o.read.Mem.Word(addr+holds)]
	case objects.ShapeType:
		if o.read.Mem.Word(addr+cpython.TypeFlags)&cpython.FlagHeapType == 0 {
			return true
		}
		return o.foreign(o.read.Lookup(o.read.Mem.Word(addr+cpython.TypeDict), "__module__"))
	case objects.ShapeFunction:
		return o.foreign(o.read.Mem.Word(addr + uint64(o.read.Heap.FuncModule)))
	}
	if t.Name == objects.LruCache {
		return o.foreign(o.read.Attribute(addr, t, "__module__"))
	}
	return t.Shell
}

// foreign reports whether an object is the name of a module other than __main__: one that many functions and classes
// have.
func (o *exits) foreign(name uint64) bool {
	const most = 1 << 12
	is, known := o.named[name]
	if !known {
		text, ok := o.read.Text(name, objects.MaxName)
		if is = ok && text != "__main__"; o.named != nil && len(o.named) < most {
			o.named[name] = is
		}
	}
	return is
}

// notedOut is LeadsOut for an object in the notes.
func (o *exits) notedOut(addr uint64, one *objects.Note, t *objects.Type) bool {
	if t.Shape == objects.ShapeType || t.Shape == objects.ShapeFunction || t.Name == objects.LruCache {
		return one.Is(objects.NoteOut)
	}
	return o.LeadsOut(addr, t)
}

// maxFrames is the largest number of frames of all threads.
const maxFrames = 1 << 16

// Thread is a thread of the interpreter: its PyThreadState and its frames, the innermost first.
type Thread struct {
	Addr   uint64
	Frames []uint64
}

// ReadThreads reads the frames that run.
func (o *exits) ReadThreads() (all []Thread) {
	const most = 1 << 12
	state := o.read.Mem.Word(o.read.Heap.Interpreter + uint64(o.read.Heap.InterpThreadsHead))
	next := uint64(o.read.Heap.ThreadNext)
	for ; state != 0 && len(all) < most && !o.read.Spent(); state = o.read.Mem.Word(state + next) {
		f := o.read.Mem.Word(state + uint64(o.read.Heap.ThreadFrame))
		if o.read.Heap.FrameKind == cpython.FrameCFrame {
			f = o.read.Mem.Word(f + uint64(o.read.Heap.CFrameCurrent))
		}
		one := Thread{Addr: state}
		for f != 0 && f&7 == 0 && !o.Running[f] && len(o.Running) < maxFrames && !o.read.Spent() {
			o.Running[f] = true
			if slices.Contains(o.read.Limits.Running, state) {
				if o.CellFrames == nil {
					o.CellFrames = map[uint64]bool{}
				}
				o.CellFrames[f] = true
			}
			one.Frames = append(one.Frames, f)
			f = o.read.Mem.Word(f + uint64(o.read.Heap.FrameBack))
		}
		all = append(all, one)
	}
	return all
}
