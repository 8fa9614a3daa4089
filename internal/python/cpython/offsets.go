package cpython

// FrameKind is the way to find a thread's innermost frame.
type FrameKind uint32

// The kinds, by version.
const (
	FrameObject FrameKind = iota // 3.9, 3.10: tstate.frame is a PyFrameObject
	FrameCFrame                  // 3.11, 3.12: tstate.cframe, then cframe.current_frame, an interpreter frame
	FrameDirect                  // 3.13 and newer: tstate.current_frame is an interpreter frame
)

// Offsets has the places of CPython's fields that the BPF programs and [Interpreter] read. Fields are byte offsets in
// the object they are named after unless their comment differs. 0 marks a field that the version does not have; no
// field that is used lies at 0 except FrameCode and CFrameCurrent.
//
// Sources: offsetof() compiled against the headers of 3.9.2, 3.9.18, 3.10.13, 3.11.2, 3.11.7 and 3.12.1;
// _Py_DebugOffsets of the build itself from 3.13.
type Offsets struct {
	// FreeThreaded: without the GIL ([Binary.FreeThreaded]) an object's header takes 32 bytes, not 16: ob_tid, flags,
	// ob_ref_local, ob_ref_shared, ob_type.
	FreeThreaded bool

	ObjectOffsets
	StringOffsets
	CodeOffsets
	StateOffsets
	FrameOffsets
	GeneratorOffsets
}

// ObjectOffsets are the places in objects of all kinds.
type ObjectOffsets struct {
	ObjectType uint32 // ob_type
	TypeName   uint32 // PyTypeObject.tp_name, a C string
	VarSize    uint32 // ob_size
	ListSize   uint32 // PyListObject's ob_size
	ListItems  uint32 // ob_item, a pointer
	BytesData  uint32 // ob_sval
	DictKeys   uint32 // ma_keys
	DictValues uint32 // ma_values: not null in a split dict
	ModuleDict uint32 // PyModuleObject.md_dict

}

// StringOffsets are the places in a str. [StringOffsets.Text] reads the state word. Data follows the header: at
// ASCIIData if ASCII, at CompactData otherwise.
type StringOffsets struct {
	StrLength   uint32 // in code points
	StrState    uint32
	StrKind     uint32 // the first bit of the state word that is about the characters
	ASCIIData   uint32
	CompactData uint32
}

// CodeOffsets are the places in a PyCodeObject.
type CodeOffsets struct {
	CodeFilename  uint32
	CodeName      uint32
	CodeQualName  uint32 // 3.11 and newer
	CodeFirstLine uint32 // int32
	CodeFlags     uint32 // int32, co_flags
	// uint32, no two code objects have the same; 3.12 and newer. 0 in a code object: versions have run out
	CodeVersion   uint32
	CodeLineTable uint32 // a bytes object: co_lnotab (3.9) or co_linetable
	CodeBytes     uint32 // 3.11 and newer: co_code_adaptive, the first instruction; before: co_code, a bytes object
	// co_tlbc: how many copies of the instructions threads have, and where each is; free-threaded 3.14
	CodeCopies uint32
}

// StateOffsets are the places in _PyRuntimeState, PyInterpreterState and PyThreadState.
type StateOffsets struct {
	RuntimeInterpretersHead uint32
	RuntimeInterpretersMain uint32
	InterpThreadsHead       uint32
	InterpModules           uint32 // the dict that is sys.modules

	ThreadNext  uint32
	ThreadID    uint32 // pthread_self() of the thread, which the thread pointer points to
	ThreadFrame uint32 // see FrameKind
	// ThreadRaised is the exception on its way, up to 3.11 its type: current_exception or curexc_type; 0 before 3.11
	ThreadRaised uint32
}

// FrameOffsets are the places in frames.
type FrameOffsets struct {
	FrameKind     FrameKind
	CFrameCurrent uint32 // cframe.current_frame, where FrameKind is FrameCFrame
	FrameBack     uint32
	FrameCode     uint32 // AND the word with CodeMask
	FrameInstr    uint32 // f_lasti (3.9: bytes, 3.10: units, int32), prev_instr or instr_ptr (a pointer)
	FrameOwner    uint32 // a byte, 3.11 and newer
	FrameCopy     uint32 // tlbc_index: the copy of the instructions that FrameInstr points into; free-threaded 3.14
	OwnerGen      uint32 // the owner of a generator's or coroutine's frame
	OwnerSkip     uint32 // frames with this owner or a higher one hold no Python code
	CodeMask      uint64 // tag bits of _PyStackRef removed, 3.14 and newer

}

// GeneratorOffsets are the places in generators and coroutines.
type GeneratorOffsets struct {
	FrameGen    uint32 // 3.9, 3.10: PyFrameObject.f_gen, null in an ordinary frame
	GenFramePtr uint32 // 3.9, 3.10: gi_frame, null once finished
	GenFrame    uint32 // 3.11 and newer: gi_iframe is embedded, so generator = frame - GenFrame

	// The state of a generator is one signed byte: in the generator itself at GenState (3.11 and newer), or
	// in its frame at FrameState (3.10, PyFrameObject.f_state). It is finished from StateFinished up,
	// executing at StateExecuting, suspended from StateSuspended to StateSuspendedLast, and otherwise not
	// yet started.
	GenState           uint32
	FrameState         uint32
	StateSuspended     int32
	StateSuspendedLast int32
	StateExecuting     int32
	StateFinished      int32

	// 3.9 has no such state. A frame executes while the byte at FrameExecuting is not 0, and it is finished
	// when it does not execute and the pointer at FrameStackTop is null (it is set while suspended). This
	// already holds when _PyGen_SetStopIterationValue is called, where gi_frame is not yet cleared.
	FrameExecuting uint32
	FrameStackTop  uint32
}

// BehindHeader returns the offset of a field in an object, given its offset behind a header of 16 bytes, as the
// constants of this package have it.
func (o *Offsets) BehindHeader(field uint32) uint32 {
	if o.FreeThreaded {
		return field + headerGrowth
	}
	return field
}

// Text reads the state word of a str: the bytes of a character (1, 2 or 4), whether the characters follow the header,
// and whether all of them are ASCII.
func (o *StringOffsets) Text(state uint32) (kind uint64, compact, ascii bool) {
	state >>= o.StrKind
	return uint64(state & 7), state>>3&1 != 0, state>>4&1 != 0
}

// Characters returns the offset of a str's characters, and the bytes of each. ok is false for the state word of a str
// whose characters do not follow the header.
func (o *StringOffsets) Characters(state uint32) (at, kind uint64, ok bool) {
	kind, compact, ascii := o.Text(state)
	isKind := kind == 1 || kind == 2 && !ascii || kind == 4 && !ascii
	switch {
	case !compact || !isKind:
		return 0, 0, false
	case ascii:
		return uint64(o.ASCIIData), kind, true
	}
	return uint64(o.CompactData), kind, true
}

// GenPhase is the phase of a generator's or coroutine's life.
type GenPhase uint8

// The phases of a generator.
const (
	GenCreated GenPhase = iota
	GenSuspended
	GenExecuting
	GenFinished
)

// Phase decodes the byte at GenState (3.11 and newer) or FrameState (3.10).
func (o *Offsets) Phase(state int8) GenPhase {
	switch s := int32(state); {
	case s >= o.StateFinished:
		return GenFinished
	case s == o.StateExecuting:
		return GenExecuting
	case s >= o.StateSuspended && s <= o.StateSuspendedLast:
		return GenSuspended
	}
	return GenCreated
}

// headerGrowth is how many bytes larger an object's header is in a free-threaded build: Include/object.h.
const headerGrowth = 16
