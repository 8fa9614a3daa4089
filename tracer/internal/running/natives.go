package running

import (
	"fmt"
	"io"
	"log/slog"
	"path"
	"slices"
	"sync"
	"time"

	"ipytracer/event"
	"ipytracer/internal/code/elffile"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/tracee"
)

// Natives are the ELF files of all targets, and the Python stacks behind native ones.
type Natives struct {
	FS     process.FS
	Kernel tracee.CodeTable
	Log    *slog.Logger
	Target func(pid int) *tracee.Target // returns a traced process that has not ended

	Modules map[process.FileID]*elffile.Module // nil where a file cannot be used
	Ahead   RulesAhead
	Room    elffile.Room
	places  int        // of all targets
	opening sync.Mutex // held for files and closed
	files   []io.Closer
	closed  bool // files are closed, and later ones are closed at once
	stacks  map[uint64]*event.Stack
	frames  int    // of all stacks
	mapped  uint32 // number of code mappings ever seen
	Naming  Naming
}

// Limits of the caches. The kernel's table of stacks has as many.
const (
	MaxModules      = 512
	maxPythonStacks = 1 << 17
	maxPythonFrames = 1 << 20
	MaxNativeBytes  = 64 << 20 // of symbols and lines; PyTorch's libraries have some 10 MiB of them
)

// Keep stores a Python stack for the native ones that refer to it.
func (n *Natives) Keep(wanted bool, s *event.Stack) {
	if !wanted || len(n.stacks) >= maxPythonStacks || n.frames+len(s.Frames) > maxPythonFrames {
		return
	}
	if n.stacks == nil {
		n.stacks = map[uint64]*event.Stack{}
	}
	n.stacks[s.Number] = s
	n.frames += len(s.Frames)
}

func (n *Natives) Close() {
	n.Ahead.stop()
	n.Naming.Wait(EndPatience)
	n.opening.Lock()
	defer n.opening.Unlock()
	for _, f := range n.files {
		_ = f.Close()
	}
	n.files, n.Modules, n.closed = nil, nil, true
}

// CloseLater keeps a file open until the session closes. Any goroutine may call it.
func (n *Natives) CloseLater(f io.Closer) {
	n.opening.Lock()
	defer n.opening.Unlock()
	if n.closed {
		_ = f.Close()
		return
	}
	n.files = append(n.files, f)
}

// Module opens the file behind a mapping, once. It returns nil if the file cannot be opened or is no ELF file, and also
// where pending is true: then the file is still being read.
func (all *Natives) Module(t *tracee.Target, m process.Mapping) (found *elffile.Module, pending bool) {
	if known, ok := all.Modules[m.File]; ok || len(all.Modules) >= MaxModules {
		return known, false
	}
	if all.Modules == nil {
		all.Modules = map[process.FileID]*elffile.Module{}
	}
	module, known, pending := all.Ahead.Take(m.File)
	if pending {
		return nil, true
	}
	if known {
		all.Modules[m.File] = module
		return module, false
	}
	all.Modules[m.File] = nil
	file, err := all.FS.Image(t.PID).OpenMapping(m)
	if err != nil {
		return nil, false
	}
	module, err = elffile.OpenModule(file.File, all.DebugFiles(t), &all.Room)
	if err != nil {
		_ = file.File.Close()
		return nil, false
	}
	all.CloseLater(file.File)
	all.Modules[m.File] = module
	return module, false
}

// DebugFiles returns a function that opens debug files as a target sees them.
func (all *Natives) DebugFiles(t *tracee.Target) func(name string) (io.ReaderAt, error) {
	pid := t.PID
	return func(name string) (io.ReaderAt, error) {
		debug, err := all.FS.Image(pid).OpenFile(name)
		if err != nil {
			return nil, err
		}
		all.CloseLater(debug.File)
		return debug.File, nil
	}
}

// at returns the mapping of an address, and reads the mappings again if none is known.
func (all *Natives) at(t *tracee.Target, pc uint64) tracee.CodeMapping {
	n := &t.Natives
	if m := n.Find(pc); m.Number != 0 || time.Since(n.Read) < tracee.RemapPause || !n.Rested.IsOver() {
		return m
	}
	all.Remap(t)
	return n.Find(pc)
}

// Remap reads the mappings, and withdraws places and rules that are no longer valid.
func (all *Natives) Remap(t *tracee.Target) {
	n := &t.Natives
	n.Read = time.Now()
	defer func() { n.Rested.After(time.Since(n.Read)) }()
	changes, err := all.Kernel.CodeChanges(t.Slot) // first: a later change counts as not seen
	if err != nil {
		all.Log.Warn("native stacks are not followed", "pid", t.PID, "error", err)
		return
	}
	before := map[process.Mapping]uint32{}
	for _, m := range n.Code {
		before[m.Mapping] = m.Number
	}
	var code []tracee.CodeMapping
	for m, err := range all.FS.Image(t.PID).Mappings() {
		if err != nil {
			return // it has ended
		}
		if m.Perm&process.Exec == 0 {
			continue
		}
		number := before[m]
		if number == 0 {
			all.mapped++
			number = all.mapped
		}
		code = append(code, tracee.CodeMapping{Mapping: m, Number: number})
	}
	if !slices.Equal(code, n.Code) {
		n.Code = code
		for at, k := range n.Places {
			if n.Find(at.Address()).Number != k.In {
				all.dropPlace(t, at, k)
			}
		}
	}
	n.Changes = changes
	if err := all.Kernel.CodeChecked(t.Slot, changes); err != nil {
		all.Log.Warn("native stacks are not followed", "pid", t.PID, "error", err)
	}
}

// CatchUp reads the mappings again if the kernel half has counted a load or an unload of a library since they were last
// read: no record says so.
func (all *Natives) CatchUp(t *tracee.Target) {
	n := &t.Natives
	changes, err := all.Kernel.CodeChanges(t.Slot)
	switch {
	case err != nil || changes == n.Changes && n.Code != nil:
	case n.Rested.IsOver():
		all.Remap(t)
	default:
		n.Code = nil // nothing is known of the mappings until they are read
	}
}

func (all *Natives) dropPlace(t *tracee.Target, at tracee.Place, k *tracee.Known) {
	if k.Ruled {
		if err := all.Kernel.DropRule(t.Slot, at.PC, at.Leaf); err != nil {
			all.Log.Warn("a rule could not be taken back", "pid", t.PID, "error", err)
		}
	}
	delete(t.Natives.Places, at)
	all.places--
}

// Forget withdraws all rules of a target from the kernel: another process may get its slot soon.
func (all *Natives) Forget(t *tracee.Target) {
	for at, k := range t.Natives.Places {
		all.dropPlace(t, at, k)
	}
	if t.Natives.Places == nil {
		return
	}
	t.Natives = tracee.NativeSpace{}
	if err := all.Kernel.CodeForgotten(t.Slot); err != nil {
		all.Log.Warn("rules could not be taken back", "pid", t.PID, "error", err)
	}
}

// known returns the stored data of a place, and makes room for it. Beyond the limit, the data is not stored.
func (all *Natives) known(t *tracee.Target, at tracee.Place) (*tracee.Known, tracee.CodeMapping) {
	m := all.at(t, at.Address())
	n := &t.Natives
	k := n.Places[at]
	if k == nil {
		k = &tracee.Known{In: m.Number}
		if n.Places == nil {
			n.Places = map[tracee.Place]*tracee.Known{}
		}
		if all.places < tracee.MaxPlaces {
			all.places++
			n.Places[at] = k
		}
	}
	return k, m
}

// Rule determines how to unwind from a place, and passes the rule to the kernel.
func (all *Natives) Rule(t *tracee.Target, pc uint64, leaf bool) elffile.Rule {
	at := tracee.Place{PC: pc, Leaf: leaf}
	k, m := all.known(t, at)
	if k.Ruled {
		return k.Rule
	}
	module, pending := all.moduleOf(t, m.Mapping)
	if pending { // the next copy of the stack may find it
		return elffile.Rule{}
	}
	if module != nil {
		if bias, ok := module.Bias(m.Start, m.Offset); ok {
			k.Rule = module.Rule(at.Address() - bias)
		}
	}
	if t.Natives.Places[at] == k {
		rule := ledger.Rule{Base: ledgerBases[k.Rule.Base], CFAOffset: k.Rule.CFAOffset, BPOffset: k.Rule.BPOffset,
			Return: k.Rule.Return, Mapping: k.In}
		k.Ruled = all.Kernel.SetRule(t.Slot, pc, leaf, rule) == nil
	}
	return k.Rule
}

var ledgerBases = [...]ledger.Base{
	elffile.UnknownBase: ledger.BaseUnknown, elffile.Outermost: ledger.BaseOutermost, elffile.SP: ledger.BaseSP,
	elffile.BP:      ledger.BaseBP,
	elffile.BPDeref: ledger.BaseBPDeref,
}

// moduleOf returns the ELF file of a mapping, nil if there is none or, with pending true, if it is not known yet.
func (all *Natives) moduleOf(t *tracee.Target, m process.Mapping) (found *elffile.Module, pending bool) {
	if m.File.Inode == 0 {
		return nil, false
	}
	return all.Module(t, m)
}

const maxModuleName = 192

// place returns the location of a return address, or of an instruction (leaf). It stays valid when the library is
// unloaded.
func (all *Natives) place(t *tracee.Target, pc uint64, leaf bool) CodePlace {
	at := tracee.Place{PC: pc, Leaf: leaf}
	m := all.at(t, at.Address())
	named := func(function, module string) CodePlace {
		return CodePlace{Function: function, Name: module}
	}
	switch {
	case m.End == 0:
		return UnknownPlace
	case m.Path == "[vdso]":
		return named(m.Path, m.Path)
	case m.File.Inode == 0:
		return named("[anon]", "[anon]")
	}
	name := tracee.NativeText(path.Base(m.Path), maxModuleName)
	module, _ := all.moduleOf(t, m.Mapping)
	if module == nil {
		return named(fmt.Sprintf("%s+%#x", name, pc-m.Start+m.Offset), name)
	}
	bias, _ := module.Bias(m.Start, m.Offset)
	return CodePlace{Module: module, Name: name, VAddr: pc - bias, leaf: leaf}
}

// Queue queues a native stack, with its functions to be named, in front of the Python frames.
func (all *Natives) Queue(out *event.Stack, from *ledger.NativeStack) {
	t := all.Target(int(from.PID))
	u := UnnamedStack{Event: out}
	for i, pc := range from.PCs {
		at := UnknownPlace
		if t != nil {
			at = all.place(t, pc, from.Leaf && i == 0)
		}
		u.Places = append(u.Places, at)
	}
	switch python := all.stacks[from.Python]; {
	case from.Python == 0:
		out.More = from.End != ledger.NativeOutermost
	case python != nil:
		u.Rest, out.More = python.Frames, python.More
	default:
		out.More = true
	}
	if from.Python != 0 && from.End != ledger.NativePython { // an unknown frame is between the last call and Python
		u.Places = append(u.Places, UnknownPlace)
	}
	all.Naming.Name(u)
}

// LetGo forgets all stacks and the data about code. No caller asks for more of it.
func (n *Natives) LetGo(targets []*tracee.Target) {
	for _, t := range targets {
		n.Forget(t)
	}
	n.stacks, n.frames, n.Modules = nil, 0, nil
	n.Naming.dropCaches()
}
