package tracer

import (
	"io"
	"log/slog"
	"strings"

	"ipytracer/event"
	"ipytracer/tracer/elffile"
	"ipytracer/tracer/ledger"
	"ipytracer/tracer/native"
	"ipytracer/tracer/process"
)

// natives are the ELF files of all targets, and the Python stacks that native ones are put in front of.
type natives struct {
	fs     process.FS
	kernel codeTable
	log    *slog.Logger
	target func(pid int) *target // a process that is traced and has not ended

	modules map[process.FileID]*native.Module // nil where a file is of no use
	room    elffile.Room
	places  int // of all targets
	files   []io.Closer
	stacks  map[uint64]*event.Stack
	frames  int    // of all of them
	mapped  uint32 // mappings of code that were ever seen
	unnamed []unnamedStack
}

// unnamedStack is a native stack that is in the queue already, without its frames: reading symbols takes a while, and rules are
// waited for.
type unnamedStack struct {
	event *event.Stack
	from  ledger.NativeStack
}

// Limits of what is kept. The kernel's table of stacks has as many.
const (
	maxModules      = 512
	maxPythonStacks = 1 << 17
	maxPythonFrames = 1 << 20
	maxNativeBytes  = 512 << 20 // of symbols and lines; PyTorch's libraries have some 100 MiB of them
)

// keep remembers a Python stack for the native ones that refer to it.
func (n *natives) keep(wanted bool, s *event.Stack) {
	if !wanted || len(n.stacks) >= maxPythonStacks || n.frames+len(s.Frames) > maxPythonFrames {
		return
	}
	if n.stacks == nil {
		n.stacks = map[uint64]*event.Stack{}
	}
	n.stacks[s.Number] = s
	n.frames += len(s.Frames)
}

func (n *natives) close() {
	for _, f := range n.files {
		_ = f.Close()
	}
	n.files, n.modules = nil, nil
}

// module opens the file behind a mapping, once. Nil if that cannot be done, or it is no ELF file.
func (all *natives) module(t *target, m process.Mapping) *native.Module {
	if known, ok := all.modules[m.File]; ok || len(all.modules) >= maxModules {
		return known
	}
	if all.modules == nil {
		all.modules = map[process.FileID]*native.Module{}
		all.room.Bytes = maxNativeBytes
	}
	all.modules[m.File] = nil
	file, err := all.fs.OpenMapping(t.pid, m)
	if err != nil {
		return nil
	}
	module, err := native.Open(file.File, func(name string) (io.ReaderAt, error) {
		debug, err := all.fs.OpenFile(t.pid, name)
		if err != nil {
			return nil, err
		}
		all.files = append(all.files, debug.File)
		return debug.File, nil
	}, &all.room)
	if err != nil {
		_ = file.File.Close()
		return nil
	}
	all.files = append(all.files, file.File)
	all.modules[m.File] = module
	return module
}

// StackCopy unwinds what the kernel could not, hands in the rules it took, and queues the stack.
func (s *Session) StackCopy(c *ledger.StackCopy) {
	t := s.target(int(c.PID))
	if t == nil || t.python == nil || t.slot != c.Slot {
		return
	}
	s.natives.catchUp(t)
	text := t.python.file.Mapping
	inPython := func(pc uint64) bool { return pc >= text.Start && pc < text.End }
	out := ledger.NativeStack{PID: c.PID, Number: c.Number, Python: c.Python}
	if !inPython(c.IP) { // as in bpf/native.h
		out.PCs, out.Leaf = append(out.PCs, c.IP), true
	}
	calls, end := native.Unwind(native.Registers{IP: c.IP, SP: c.SP, BP: c.BP}, c.Memory, ledger.MaxNative-len(out.PCs),
		func(pc uint64, leaf bool) native.Rule { return s.natives.rule(t, pc, leaf) },
		func(pc uint64) bool { return c.Python != 0 && inPython(pc) })
	out.PCs, out.End = append(out.PCs, calls...), nativeEnds[end]
	s.NativeStack(&out)
}

var nativeEnds = [...]ledger.NativeEnd{
	native.EndFull: ledger.NativeFull, native.EndOutermost: ledger.NativeOutermost, native.EndStopped: ledger.NativePython,
	native.EndUnknown: ledger.NativeUnknown,
}

// NativeStack queues a native stack.
func (s *Session) NativeStack(from *ledger.NativeStack) {
	out := &event.Stack{Number: from.Number, PID: from.PID}
	s.queue = append(s.queue, out)
	s.natives.unnamed = append(s.natives.unnamed, unnamedStack{out, *from})
}

// nameStacks completes the native stacks in the queue. It must be done before they are handed out, and before a process is forgotten.
func (all *natives) nameStacks() {
	unnamed := all.unnamed
	all.unnamed = nil
	for _, u := range unnamed {
		all.nameStack(u.event, &u.from)
	}
}

// nameStack names a native stack's functions and puts them in front of the Python frames.
func (all *natives) nameStack(out *event.Stack, from *ledger.NativeStack) {
	t := all.target(int(from.PID))
	for i, pc := range from.PCs {
		frame := unknownFrame
		if t != nil {
			frame = all.frame(t, pc, from.Leaf && i == 0)
		}
		out.Frames = append(out.Frames, frame)
	}
	if from.Python == 0 {
		out.More = from.End != ledger.NativeOutermost
		return
	}
	if from.End != ledger.NativePython { // something is between the last call and Python
		out.Frames = append(out.Frames, unknownFrame)
	}
	if python := all.stacks[from.Python]; python != nil {
		out.Frames = append(out.Frames, python.Frames...)
		out.More = python.More
	} else {
		out.More = true
	}
}

// unknownFrame stands for calls that are not known.
var unknownFrame = event.Frame{Function: "?", Native: true}

// nativeText bounds a module's name and makes it valid.
func nativeText(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "?")
}
