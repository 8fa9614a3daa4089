package walk

import (
	"slices"

	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// exits knows the objects that lead from a root's own objects to everything else: modules, the globals of functions,
// frames that run, classes of instances. References to them are deferred until all roots have been followed.
type exits struct {
	reader     objects.Reader
	deferred   []edge
	Deferring  bool            // references to exits are deferred, not followed
	keys       []edge          // references to keys of dicts, followed after all others: those make better paths
	Spaces     map[uint64]bool // the namespaces of modules
	Running    map[uint64]bool // the frames that run
	CellFrames map[uint64]bool // the frames of threads that run cells, see [objects.Limits.Running]
	classed    map[uint64]bool // classes that have been deferred
	// moduleNames caches, by address, whether an object is the name of a module other than __main__; nil without a
	// survey.
	moduleNames map[uint64]bool
}

// NewExits returns the exits of a walk that has met none.
func NewExits(r objects.Reader) exits {
	return exits{reader: r, Spaces: map[uint64]bool{}, Running: map[uint64]bool{}, classed: map[uint64]bool{}}
}

// deferReference keeps a reference until [Walker.Flush].
func (o *exits) deferReference(from int32, to uint64, l Label) {
	if len(o.deferred) < o.reader.Limits.Objects {
		o.deferred = append(o.deferred, edge{To: to, Label: l, Parent: from})
	} else {
		o.reader.Stopped = objects.ErrObjects
	}
}

// deferClass defers the reference of an instance to its class, once for each class.
func (o *exits) deferClass(n int32, class uint64) {
	if !o.classed[class] {
		o.classed[class] = true
		o.deferReference(n, class, fixedLabel(fixedClass))
	}
}

// LeadsOut reports whether an object is an exit: it leads from a root's own objects to everything else.
func (o *exits) LeadsOut(addr uint64, t *objects.Type) bool {
	switch t.Shape {
	case objects.ShapeModule:
		return true
	case objects.ShapeDict:
		return o.Spaces[addr]
	case objects.ShapeFrame:
		holds := uint64(o.reader.Heap.FrameHolds)
		return o.Running[addr] || holds != 0 && o.Running[o.reader.Mem.Word(addr+holds)]
	case objects.ShapeType:
		if o.reader.Mem.Word(addr+cpython.TypeFlags)&cpython.FlagHeapType == 0 {
			return true
		}
		return o.isForeignModule(o.reader.Lookup(o.reader.Mem.Word(addr+cpython.TypeDict), "__module__"))
	case objects.ShapeFunction:
		return o.isForeignModule(o.reader.Mem.Word(addr + uint64(o.reader.Heap.FuncModule)))
	}
	if t.Name == objects.LruCache {
		return o.isForeignModule(o.reader.Attribute(addr, t, "__module__"))
	}
	return t.Shell
}

// isForeignModule reports whether an object is the name of a module other than __main__. Many functions and classes
// share such a name.
func (o *exits) isForeignModule(name uint64) bool {
	const maxNamed = 1 << 12
	if isForeign, known := o.moduleNames[name]; known {
		return isForeign
	}
	text, ok := o.reader.Text(name, objects.MaxName)
	isForeign := ok && text != "__main__"
	if o.moduleNames != nil && len(o.moduleNames) < maxNamed {
		o.moduleNames[name] = isForeign
	}
	return isForeign
}

// notedOut is LeadsOut for an object in the notes.
func (o *exits) notedOut(addr uint64, note *objects.Note, t *objects.Type) bool {
	if t.Shape == objects.ShapeType || t.Shape == objects.ShapeFunction || t.Name == objects.LruCache {
		return note.Is(objects.NoteOut)
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

// ReadThreads reads the threads of the interpreter, and notes the frames that run.
func (o *exits) ReadThreads() (threads []Thread) {
	const maxThreads = 1 << 12
	state := o.reader.Mem.Word(o.reader.Heap.Interpreter + uint64(o.reader.Heap.InterpThreadsHead))
	next := uint64(o.reader.Heap.ThreadNext)
	for ; state != 0 && len(threads) < maxThreads && !o.reader.Spent(); state = o.reader.Mem.Word(state + next) {
		threads = append(threads, Thread{Addr: state, Frames: o.readFrames(state)})
	}
	return threads
}

// readFrames reads the frames of a thread, the innermost first.
func (o *exits) readFrames(state uint64) (frames []uint64) {
	runsCell := slices.Contains(o.reader.Limits.Running, state)
	if runsCell && o.CellFrames == nil {
		o.CellFrames = map[uint64]bool{}
	}
	f := o.reader.Mem.Word(state + uint64(o.reader.Heap.ThreadFrame))
	if o.reader.Heap.FrameKind == cpython.FrameCFrame {
		f = o.reader.Mem.Word(f + uint64(o.reader.Heap.CFrameCurrent))
	}
	for f != 0 && f&7 == 0 && !o.Running[f] && len(o.Running) < maxFrames && !o.reader.Spent() {
		o.Running[f] = true
		if runsCell {
			o.CellFrames[f] = true
		}
		frames = append(frames, f)
		f = o.reader.Mem.Word(f + uint64(o.reader.Heap.FrameBack))
	}
	return frames
}
