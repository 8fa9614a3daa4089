package tracee

import (
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/cpython"
)

// Offsets returns the offsets of package cpython in the form that the BPF programs read.
func (t *Target) Offsets(interpreter uint64, stacks bool) ledger.Python {
	p := t.Python
	o, _ := p.Binary.Offsets() // cannot fail: NewInterpreter has called it
	heap := p.Binary.Heap()
	out := ledger.Python{
		Inputs: p.Inputs, Interpreter: interpreter, CodeMask: o.CodeMask, CodeFilename: o.CodeFilename,
		CodeName: o.CodeName, CodeFirstLine: o.CodeFirstLine, CodeLineTable: o.CodeLineTable,
		StringLength: o.StrLength, StringState: o.StrState, StringKind: o.StrKind, AsciiData: o.ASCIIData,
		CompactData: o.CompactData,
		ObjectType:  o.ObjectType, TypeName: o.TypeName, VarSize: o.VarSize, BytesData: o.BytesData,
		ThreadNext: o.ThreadNext, ThreadId: o.ThreadID, ThreadFrame: o.ThreadFrame, CframeCurrent: o.CFrameCurrent,
		FrameKind: uint32(o.FrameKind), FrameBack: o.FrameBack, FrameCode: o.FrameCode, FrameOwner: o.FrameOwner,
		OwnerSkip: o.OwnerSkip, OwnerGenerator: o.OwnerGen, FrameGenerator: o.FrameGen,
		StateExecuting: o.StateExecuting, StateFinished: o.StateFinished, ThreadsHead: o.InterpThreadsHead,
		CodeFlags:    o.CodeFlags,
		CodeFullName: o.CodeQualName, CodeBytes: o.CodeBytes, CodeVersion: o.CodeVersion,
		FrameInstruction: o.FrameInstr,
		CodeCopies:       o.CodeCopies, FrameCopy: o.FrameCopy,
		FrameLocals: heap.FrameLocals, InstanceKind: uint32(p.Binary.Version().Instances()),
		CachedKeys:       heap.CachedKeys,
		InterpCollecting: heap.InterpGC + heap.Collecting,
		TypeBasicSize:    o.BehindHeader(cpython.TypeBasicSize), TypeDictOffset: o.BehindHeader(cpython.TypeDictOffset),
		DictKeys: o.DictKeys, DictValues: o.DictValues,
	}
	if o.FreeThreaded {
		out.FreeThreaded, out.InterpCollecting = 1, 0 // another thread may free while the collector runs
	}
	if out.CodeFullName == 0 {
		out.CodeFullName = o.CodeName
	}
	if interpreter == 0 {
		out.Runtime = p.Live.Word()
	}
	if stacks {
		out.FrameSize = frameSize(o)
	}
	out.Text, out.TextSize = p.File.Mapping.Start, p.File.Mapping.End-p.File.Mapping.Start
	switch {
	case o.GenState != 0:
		out.StateKind, out.GeneratorFrame, out.GeneratorState = 2, o.GenFrame, o.GenState
	case o.FrameState != 0:
		out.StateKind, out.GeneratorFrame, out.FrameState = 1, o.GenFramePtr, o.FrameState
	default:
		out.StateKind, out.GeneratorFrame, out.FrameState = 0, o.GenFramePtr, o.FrameExecuting
		out.FrameStackTop = o.FrameStackTop
	}
	if p.Terminal {
		out.Terminal = 1
	}
	if p.Marimo {
		out.Marimo, out.ThreadRaised = p.Binary.Version().Bare(), o.ThreadRaised
	}
	if p.CodeFrees {
		out.CodeFrees = 1
	}
	if threads, err := p.Live.Threads(); err == nil && len(threads) > 0 {
		out.MainThread = threads[len(threads)-1].Address // the list has the newest thread first
	}
	return out
}

// frameSize returns the number of bytes of a frame read to walk a stack. It is 0 for a build with objects larger than
// the bytes that are read of them.
func frameSize(o cpython.Offsets) uint32 {
	if max(o.CodeFilename, o.CodeName, o.CodeQualName, o.CodeFirstLine, o.CodeLineTable)+8 > ledger.CodeBytes {
		return 0
	}
	size := max(o.FrameBack, o.FrameCode, o.FrameInstr, o.FrameOwner, o.FrameCopy) + 8
	if size = (size + 7) &^ 7; size > ledger.FrameBytes {
		return 0
	}
	return size
}
