package tracer

import (
	"ipytracer/event"
	"ipytracer/internal/code/native"
	"ipytracer/internal/ledger"
)

// Code stores a code object for the stacks that follow.
func (i *intake) Code(c *ledger.Code) {
	if t := i.targets.Find(int(c.PID)); t != nil && t.Python != nil && i.allowance.given == "" {
		i.code.Codes.Add(t.Python, c)
	}
}

// Stack turns the instructions of a stack into lines, and queues the stack.
func (i *intake) Stack(from *ledger.Stack) {
	if i.allowance.given != "" {
		return
	}
	out := i.code.Codes.Stack(from, &i.code.Cells)
	i.queue.add(out)
	i.code.Natives.Keep(i.options.Native, out)
}

// StackCopy unwinds a stack that the kernel could not, passes on the rules it took, and queues the stack.
func (i *intake) StackCopy(c *ledger.StackCopy) {
	t := i.targets.Find(int(c.PID))
	if t == nil || t.Python == nil || t.Slot != c.Slot || i.allowance.given != "" {
		return
	}
	i.code.Natives.CatchUp(t)
	text := t.Python.File.Mapping
	inPython := func(pc uint64) bool { return pc >= text.Start && pc < text.End }
	out := ledger.NativeStack{PID: c.PID, Number: c.Number, Python: c.Python}
	if !inPython(c.IP) { // as in bpf/native.h
		out.PCs, out.Leaf = append(out.PCs, c.IP), true
	}
	registers := native.Registers{IP: c.IP, SP: c.SP, BP: c.BP, Link: c.Link}
	calls, end := native.Unwind(registers, c.Memory, ledger.MaxNative-len(out.PCs),
		func(pc uint64, leaf bool) native.Rule { return i.code.Natives.Rule(t, pc, leaf) },
		func(pc uint64) bool { return c.Python != 0 && inPython(pc) })
	out.PCs, out.End = append(out.PCs, calls...), nativeEnds[end]
	i.NativeStack(&out)
}

var nativeEnds = [...]ledger.NativeEnd{
	native.EndFull: ledger.NativeFull, native.EndOutermost: ledger.NativeOutermost,
	native.EndStopped: ledger.NativePython,
	native.EndUnknown: ledger.NativeUnknown,
}

// NativeStack queues a native stack. It looks up the files of the code at once: the library may be unloaded soon.
func (i *intake) NativeStack(from *ledger.NativeStack) {
	if i.allowance.given != "" {
		return
	}
	out := &event.Stack{Number: from.Number, PID: from.PID}
	i.queue.add(out)
	i.code.Natives.Queue(out, from)
}
