package cpython

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// firstDebugOffsets is the first minor version with a _PyRuntime that begins with a _Py_DebugOffsets
// (Include/internal/pycore_runtime.h in 3.13, pycore_debug_offsets.h from 3.14).
const firstDebugOffsets = 13

var debugCookie = []byte("xdebugpy")

// debugOffsets is the _Py_DebugOffsets of a build: 64-bit fields after an 8-byte cookie.
type debugOffsets struct {
	minor int
	words []uint64
}

// maxOffset bounds any field of _Py_DebugOffsets. The largest real one, the size of the runtime, is 350 KB.
const maxOffset = 1 << 20

func (b *Binary) readDebugOffsets() (*debugOffsets, error) {
	layout := debugLayouts[b.version.Minor]
	buf := make([]byte, 8+8*layout.words)
	if err := b.image.Read(b.runtime.Value, buf); err != nil {
		return nil, fmt.Errorf("%w: %s is not in the file", ErrNotPython, runtimeSymbol)
	}
	if !bytes.Equal(buf[:8], debugCookie) {
		return nil, &UnsupportedError{b.version, "no debug offsets at " + runtimeSymbol}
	}
	d := &debugOffsets{minor: b.version.Minor, words: make([]uint64, layout.words)}
	for i := range d.words {
		d.words[i] = binary.LittleEndian.Uint64(buf[8+8*i:])
	}
	if err := d.check(b.version); err != nil {
		return nil, err
	}
	return d, nil
}

const (
	debugVersion      = 0
	debugFreeThreaded = 1
)

func (d *debugOffsets) freeThreaded() bool { return d.words[debugFreeThreaded] != 0 }

// debugLayout gives the position of each field that is used, as an index of 64-bit words after the cookie.
// 0 is "not in this version".
type debugLayout struct {
	words int // how many there are

	interpretersHead                                            int // runtime_state
	interpNext, interpThreads, interpModules                    int // interpreter_state
	threadNext, threadInterp, threadFrame, threadID             int // thread_state
	framePrevious, frameExecutable, frameInstr, frameOwner      int // interpreter_frame
	codeFilename, codeName, codeQualName, codeLines, codeFirst  int // code_object
	codeAdaptive, codeCopies, frameCopy                         int // the last two of free-threaded builds, else 0
	objectType, typeName                                        int
	listItems, listSize, dictKeys, dictValues, bytesSize, bytes int
	strState, strLength, asciiSize, compactSize                 int // unicode_object
	genName, genFrame, genState                                 int // gen_object
}

// debugLayouts is _Py_DebugOffsets of 3.13.0 and 3.13.5, 3.14.6 and 3.14.10, 3.15.2.
var debugLayouts = map[int]debugLayout{
	13: {
		words: 72, interpretersHead: 4,
		interpNext: 7, interpThreads: 8, interpModules: 10,
		threadNext: 20, threadInterp: 21, threadFrame: 22, threadID: 23,
		framePrevious: 28, frameExecutable: 29, frameInstr: 30, frameOwner: 32,
		codeFilename: 34, codeName: 35, codeQualName: 36, codeLines: 37, codeFirst: 38, codeAdaptive: 42,
		objectType: 44, typeName: 46, listItems: 53, listSize: 54, dictKeys: 56, dictValues: 57,
		bytesSize: 64, bytes: 65, strState: 67, strLength: 68, asciiSize: 69,
	},
	14: {
		words: 94, interpretersHead: 4,
		interpNext: 7, interpThreads: 8, interpModules: 11,
		threadNext: 23, threadInterp: 24, threadFrame: 25, threadID: 26,
		framePrevious: 31, frameExecutable: 32, frameInstr: 33, frameOwner: 35,
		codeFilename: 39, codeName: 40, codeQualName: 41, codeLines: 42, codeFirst: 43, codeAdaptive: 47,
		codeCopies: 48, frameCopy: 37,
		objectType: 50, typeName: 52, listItems: 59, listSize: 60, dictKeys: 66, dictValues: 67,
		bytesSize: 74, bytes: 75, strState: 77, strLength: 78, asciiSize: 79,
		genName: 83, genFrame: 84, genState: 85,
	},
	15: {
		words: 110, interpretersHead: 4,
		interpNext: 7, interpThreads: 8, interpModules: 11,
		threadNext: 23, threadInterp: 24, threadFrame: 25, threadID: 29,
		framePrevious: 39, frameExecutable: 40, frameInstr: 41, frameOwner: 43,
		codeFilename: 47, codeName: 48, codeQualName: 49, codeLines: 50, codeFirst: 51, codeAdaptive: 55,
		objectType: 58, typeName: 60, listItems: 71, listSize: 72, dictKeys: 78, dictValues: 79,
		bytesSize: 86, bytes: 87, strState: 89, strLength: 90, asciiSize: 91, compactSize: 92,
		genName: 99, genFrame: 100, genState: 101,
	},
}

// apply overwrites the table's offsets with those that the build has about itself.
func (d *debugOffsets) apply(o *Offsets) {
	l := debugLayouts[d.minor]
	for _, f := range []struct {
		dst  *uint32
		word int
	}{
		{&o.RuntimeInterpretersHead, l.interpretersHead},
		{&o.InterpNext, l.interpNext}, {&o.InterpThreadsHead, l.interpThreads}, {&o.InterpModules, l.interpModules},
		{&o.ThreadNext, l.threadNext}, {&o.ThreadInterp, l.threadInterp}, {&o.ThreadFrame, l.threadFrame},
		{&o.ThreadID, l.threadID},
		{&o.FrameBack, l.framePrevious}, {&o.FrameCode, l.frameExecutable}, {&o.FrameInstr, l.frameInstr},
		{&o.FrameOwner, l.frameOwner},
		{&o.CodeFilename, l.codeFilename}, {&o.CodeName, l.codeName}, {&o.CodeQualName, l.codeQualName},
		{&o.CodeLineTable, l.codeLines}, {&o.CodeFirstLine, l.codeFirst}, {&o.CodeBytes, l.codeAdaptive},
		{&o.CodeCopies, l.codeCopies}, {&o.FrameCopy, l.frameCopy},
		{&o.ObjectType, l.objectType}, {&o.TypeName, l.typeName},
		{&o.ListItems, l.listItems}, {&o.VarSize, l.listSize}, {&o.ListSize, l.listSize}, {&o.DictKeys, l.dictKeys},
		{&o.DictValues, l.dictValues},
		{&o.BytesData, l.bytes}, {&o.StrState, l.strState}, {&o.StrLength, l.strLength},
		{&o.ASCIIData, l.asciiSize}, {&o.CompactData, l.compactSize},
		{&o.GenName, l.genName}, {&o.GenFrame, l.genFrame}, {&o.GenState, l.genState},
	} {
		if f.word != 0 {
			*f.dst = uint32(d.words[f.word])
		}
	}
	// Where they are not given: compact data follows PyASCIIObject's utf8 pointer and length, the main
	// interpreter follows the head of the list, and gi_qualname follows gi_name.
	o.RuntimeInterpretersMain = o.RuntimeInterpretersHead + 8
	if l.compactSize == 0 {
		o.CompactData = o.ASCIIData + 16
	}
	if l.genName != 0 {
		o.GenQualName = o.GenName + 8
	}
}
