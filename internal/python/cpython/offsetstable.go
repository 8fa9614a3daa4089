package cpython

// tableOffsets returns a version's offsets as its headers give them. For 3.13 and newer it serves for the offsets that
// _Py_DebugOffsets does not have, and for the tests that compare the two.
func tableOffsets(minor int) Offsets {
	o := Offsets{
		ObjectOffsets: ObjectOffsets{
			ObjectType: 8, TypeName: 24, VarSize: 16, ListSize: 16, ListItems: 24, BytesData: 32,
			DictKeys: 32, DictValues: 40, ModuleDict: 16,
		},
		StringOffsets: StringOffsets{StrLength: 16, StrState: 32, StrKind: 2, ASCIIData: 40, CompactData: 56},
		StateOffsets:  StateOffsets{ThreadNext: 8},
		FrameOffsets:  FrameOffsets{CodeMask: ^uint64(0), OwnerGen: 1, OwnerSkip: 255},
	}
	if minor <= 11 { // wstr left PyASCIIObject in 3.12 (PEP 623)
		o.ASCIIData, o.CompactData = 48, 72
	}
	switch minor {
	case 9, 10:
		tableFrameObject(&o, minor)
	case 11, 12:
		tableCFrame(&o, minor)
	default:
		tableDirect(&o, minor)
	}
	if minor >= 11 {
		tableInterpreterFrame(&o, minor)
	}
	o.RuntimeInterpretersMain = o.RuntimeInterpretersHead + 8
	return o
}

// tableFreeThreaded changes the offsets that differ without the GIL and that _Py_DebugOffsets does not have, or not in
// every version: Include/object.h, Include/cpython/{code,unicodeobject}.h of 3.13.5 and 3.14.6.
func tableFreeThreaded(o *Offsets, minor int) {
	o.FreeThreaded, o.CodeMask = true, ^uint64(7)
	for _, at := range []*uint32{&o.ModuleDict, &o.CodeFlags, &o.CodeVersion,
		&o.GenFrame, &o.GenState} {
		*at += headerGrowth
	}
	if minor >= 14 {
		o.StrKind = 8 // a byte is for whether it is interned
	}
}

// tableFrameObject fills in the offsets of 3.9 and 3.10: Include/cpython/{code,frameobject,genobject,pystate}.h.
func tableFrameObject(o *Offsets, minor int) {
	o.CodeFilename, o.CodeName, o.CodeFlags, o.CodeFirstLine, o.CodeLineTable, o.CodeBytes = 104, 112, 36, 40, 120, 48
	o.RuntimeInterpretersHead, o.InterpThreadsHead, o.InterpModules = 32, 8, 856
	o.ThreadID, o.ThreadFrame = 176, 24
	o.FrameKind, o.FrameBack, o.FrameCode = FrameObject, 24, 32
	o.GenFramePtr = 16
	if minor == 9 {
		o.FrameInstr, o.FrameGen, o.FrameExecuting, o.FrameStackTop = 104, 96, 116, 72
		return
	}
	o.FrameInstr, o.FrameGen, o.FrameState = 96, 88, 108
	o.StateSuspended, o.StateSuspendedLast, o.StateExecuting, o.StateFinished = -1, -1, 0, 1
}

// tableCFrame fills in the offsets of 3.11 and 3.12: Include/cpython/pystate.h and
// Include/internal/pycore_{frame,interp,runtime}.h.
func tableCFrame(o *Offsets, minor int) {
	o.FrameKind, o.ThreadFrame, o.ThreadRaised = FrameCFrame, 56, 96
	o.RuntimeInterpretersHead = 40
	if minor == 11 {
		o.InterpThreadsHead, o.InterpModules, o.ThreadID, o.CFrameCurrent = 16, 888, 152, 8
		return
	}
	o.InterpThreadsHead, o.InterpModules, o.ThreadID, o.CFrameCurrent = 72, 944, 136, 0
}

// tableDirect fills in the offsets of 3.13 and newer, where they only back up _Py_DebugOffsets.
func tableDirect(o *Offsets, minor int) {
	o.FrameKind, o.ThreadFrame, o.ThreadRaised = FrameDirect, 72, 112
	switch minor {
	case 13:
		o.RuntimeInterpretersHead, o.InterpThreadsHead, o.InterpModules, o.ThreadID = 632, 7344, 7656, 152
	case 14:
		o.RuntimeInterpretersHead, o.InterpThreadsHead, o.InterpModules, o.ThreadID = 808, 7344, 7688, 152
	case 15:
		o.RuntimeInterpretersHead, o.InterpThreadsHead, o.InterpModules, o.ThreadID = 936, 7336, 7592, 176
		o.ThreadRaised = 136
	}
}

// tableInterpreterFrame fills in the common part of 3.11 and newer: Include/internal/pycore_frame.h
// (pycore_interpframe_structs.h from 3.14) and Include/cpython/code.h.
func tableInterpreterFrame(o *Offsets, minor int) {
	o.CodeFilename, o.CodeName, o.CodeQualName, o.CodeLineTable = 112, 120, 128, 136
	o.CodeFlags, o.CodeFirstLine, o.FrameInstr = 48, 68, 56
	o.FrameBack, o.FrameCode, o.FrameOwner, o.OwnerSkip = 8, 0, 70, 3
	o.GenFrame, o.GenState = 72, 67
	if minor >= 12 {
		o.CodeVersion = 92
	}
	switch minor {
	case 11:
		o.CodeFirstLine, o.CodeBytes = 72, 184
		o.FrameBack, o.FrameCode, o.FrameOwner, o.OwnerSkip = 48, 32, 69, 255
		o.GenFrame, o.GenState = 80, 75
	case 12:
		o.CodeBytes = 192
	case 13:
		o.CodeBytes = 200
	default:
		o.CodeBytes, o.FrameOwner, o.CodeMask = 208, 74, ^uint64(7)
	}
	// enum _framestate, Include/internal/pycore_frame.h: CREATED, SUSPENDED, EXECUTING, COMPLETED 1, CLEARED 4
	// in 3.11 and 3.12; 3.13 adds SUSPENDED_YIELD_FROM -1; 3.15 renumbers from CREATED 0 to CLEARED 5.
	switch {
	case minor <= 12:
		o.StateSuspended, o.StateSuspendedLast, o.StateExecuting, o.StateFinished = -1, -1, 0, 1
	case minor <= 14:
		o.StateSuspended, o.StateSuspendedLast, o.StateExecuting, o.StateFinished = -2, -1, 0, 1
	default:
		o.StateSuspended, o.StateSuspendedLast, o.StateExecuting, o.StateFinished = 1, 3, 4, 5
	}
}
