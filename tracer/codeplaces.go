package tracer

import (
	"fmt"
	"path"
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/internal/code/native"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// at returns the mapping of an address, and reads the mappings again if none is known.
func (all *natives) at(t *target, pc uint64) codeMapping {
	n := &t.natives
	if m := n.find(pc); m.number != 0 || time.Since(n.read) < remapPause || !n.rested.isOver() {
		return m
	}
	all.remap(t)
	return n.find(pc)
}

// remap reads the mappings, and withdraws places and rules that are no longer valid.
func (all *natives) remap(t *target) {
	n := &t.natives
	n.read = time.Now()
	defer func() { n.rested.after(time.Since(n.read)) }()
	changes, err := all.kernel.CodeChanges(t.slot) // first: a later change counts as not seen
	if err != nil {
		all.log.Warn("native stacks are not followed", "pid", t.pid, "error", err)
		return
	}
	before := map[process.Mapping]uint32{}
	for _, m := range n.code {
		before[m.Mapping] = m.number
	}
	var code []codeMapping
	for m, err := range all.fs.Image(t.pid).Mappings() {
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
		code = append(code, codeMapping{m, number})
	}
	if !slices.Equal(code, n.code) {
		n.code = code
		for at, k := range n.places {
			if n.find(at.address()).number != k.in {
				all.dropPlace(t, at, k)
			}
		}
	}
	n.changes = changes
	if err := all.kernel.CodeChecked(t.slot, changes); err != nil {
		all.log.Warn("native stacks are not followed", "pid", t.pid, "error", err)
	}
}

// catchUp reads the mappings if libraries were loaded or unloaded since the last time without a record.
func (all *natives) catchUp(t *target) {
	n := &t.natives
	changes, err := all.kernel.CodeChanges(t.slot)
	switch {
	case err != nil || changes == n.changes && n.code != nil:
	case n.rested.isOver():
		all.remap(t)
	default:
		n.code = nil // of which nothing is known until then
	}
}

func (all *natives) dropPlace(t *target, at place, k *known) {
	if k.ruled {
		if err := all.kernel.DropRule(t.slot, at.pc, at.leaf); err != nil {
			all.log.Warn("a rule could not be taken back", "pid", t.pid, "error", err)
		}
	}
	delete(t.natives.places, at)
	all.places--
}

// forget withdraws all rules of a target from the kernel: another process may get its slot soon.
func (all *natives) forget(t *target) {
	for at, k := range t.natives.places {
		all.dropPlace(t, at, k)
	}
	if t.natives.places == nil {
		return
	}
	t.natives = nativeSpace{}
	if err := all.kernel.CodeForgotten(t.slot); err != nil {
		all.log.Warn("rules could not be taken back", "pid", t.pid, "error", err)
	}
}

// known returns the stored data of a place, and makes room for it. Beyond the limit, the data is not stored.
func (all *natives) known(t *target, at place) (*known, codeMapping) {
	m := all.at(t, at.address())
	n := &t.natives
	k := n.places[at]
	if k == nil {
		k = &known{in: m.number}
		if n.places == nil {
			n.places = map[place]*known{}
		}
		if all.places < maxPlaces {
			all.places++
			n.places[at] = k
		}
	}
	return k, m
}

// rule determines how to unwind from a place, and passes the rule to the kernel.
func (all *natives) rule(t *target, pc uint64, leaf bool) native.Rule {
	at := place{pc, leaf}
	k, m := all.known(t, at)
	if k.ruled {
		return k.rule
	}
	module, pending := all.moduleOf(t, m.Mapping)
	if pending { // the next copy of the stack may find it
		return native.Rule{}
	}
	if module != nil {
		if bias, ok := module.Bias(m.Start, m.Offset); ok {
			k.rule = module.Rule(at.address() - bias)
		}
	}
	if t.natives.places[at] == k {
		rule := ledger.Rule{Base: ledgerBases[k.rule.Base], CFAOffset: k.rule.CFAOffset, BPOffset: k.rule.BPOffset,
			Return: k.rule.Return, Mapping: k.in}
		k.ruled = all.kernel.SetRule(t.slot, pc, leaf, rule) == nil
	}
	return k.rule
}

var ledgerBases = [...]ledger.Base{
	native.Unknown: ledger.BaseUnknown, native.Outermost: ledger.BaseOutermost, native.SP: ledger.BaseSP,
	native.BP:      ledger.BaseBP,
	native.BPDeref: ledger.BaseBPDeref,
}

// moduleOf returns the ELF file of a mapping, nil if there is none or, with pending true, if it is not known yet.
func (all *natives) moduleOf(t *target, m process.Mapping) (found *native.Module, pending bool) {
	if m.File.Inode == 0 {
		return nil, false
	}
	return all.module(t, m)
}

const maxModuleName = 192

// place returns the location of a return address, or of an instruction (leaf). It stays valid when the library is
// unloaded.
func (all *natives) place(t *target, pc uint64, leaf bool) codePlace {
	at := place{pc, leaf}
	m := all.at(t, at.address())
	named := func(function, module string) codePlace {
		return codePlace{function: function, name: module}
	}
	switch {
	case m.End == 0:
		return unknownPlace
	case m.Path == "[vdso]":
		return named(m.Path, m.Path)
	case m.File.Inode == 0:
		return named("[anon]", "[anon]")
	}
	name := nativeText(path.Base(m.Path), maxModuleName)
	module, _ := all.moduleOf(t, m.Mapping)
	if module == nil {
		return named(fmt.Sprintf("%s+%#x", name, pc-m.Start+m.Offset), name)
	}
	bias, _ := module.Bias(m.Start, m.Offset)
	return codePlace{module: module, name: name, vaddr: pc - bias, leaf: leaf}
}

// queue queues a native stack, with its functions to be named, in front of the Python frames.
func (all *natives) queue(out *event.Stack, from *ledger.NativeStack) {
	t := all.target(int(from.PID))
	u := unnamedStack{event: out}
	for i, pc := range from.PCs {
		at := unknownPlace
		if t != nil {
			at = all.place(t, pc, from.Leaf && i == 0)
		}
		u.places = append(u.places, at)
	}
	switch python := all.stacks[from.Python]; {
	case from.Python == 0:
		out.More = from.End != ledger.NativeOutermost
	case python != nil:
		u.rest, out.More = python.Frames, python.More
	default:
		out.More = true
	}
	if from.Python != 0 && from.End != ledger.NativePython { // an unknown frame is between the last call and Python
		u.places = append(u.places, unknownPlace)
	}
	all.naming.name(u)
}

// letGo forgets all stacks and the data about code. No caller asks for more of it.
func (n *natives) letGo(targets []*target) {
	for _, t := range targets {
		n.forget(t)
	}
	n.stacks, n.frames, n.modules = nil, 0, nil
	n.naming.letGo()
}
