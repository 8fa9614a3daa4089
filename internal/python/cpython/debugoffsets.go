package cpython

import (
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

const (
	debugVersion      = 0
	debugFreeThreaded = 1
)

func (d *debugOffsets) freeThreaded() bool { return d.words[debugFreeThreaded] != 0 }

// debugWords is how many fields _Py_DebugOffsets has, by minor version.
var debugWords = map[int]int{13: 72, 14: 94, 15: 110}

// debugField is an offset that a build has about itself: where it is in _Py_DebugOffsets of 3.13 (3.13.0 and 3.13.5),
// 3.14 (.6 and 3.14.10) and 3.15 (3.15.2), as an index of 64-bit words after the cookie. 0 is "not in this version".
type debugField struct {
	field *uint32
	words [3]int
}

// overwrite sets the fields that the build has.
func (d *debugOffsets) overwrite(fields []debugField) {
	for _, f := range fields {
		if word := f.words[d.minor-firstDebugOffsets]; word != 0 {
			*f.field = uint32(d.words[word])
		}
	}
}

// apply overwrites the table's offsets with those that the build has about itself.
func (d *debugOffsets) apply(o *Offsets) {
	d.overwrite([]debugField{
		{&o.RuntimeInterpretersHead, [3]int{4, 4, 4}},
		{&o.InterpThreadsHead, [3]int{8, 8, 8}},
		{&o.InterpModules, [3]int{10, 11, 11}},
		{&o.ThreadNext, [3]int{20, 23, 23}},
		{&o.ThreadFrame, [3]int{22, 25, 25}},
		{&o.ThreadID, [3]int{23, 26, 29}},
		{&o.FrameBack, [3]int{28, 31, 39}},
		{&o.FrameCode, [3]int{29, 32, 40}},
		{&o.FrameInstr, [3]int{30, 33, 41}},
		{&o.FrameOwner, [3]int{32, 35, 43}},
		{&o.CodeFilename, [3]int{34, 39, 47}},
		{&o.CodeName, [3]int{35, 40, 48}},
		{&o.CodeQualName, [3]int{36, 41, 49}},
		{&o.CodeLineTable, [3]int{37, 42, 50}},
		{&o.CodeFirstLine, [3]int{38, 43, 51}},
		{&o.CodeBytes, [3]int{42, 47, 55}},
		{&o.CodeCopies, [3]int{0, 48, 0}},
		{&o.FrameCopy, [3]int{0, 37, 0}},
		{&o.ObjectType, [3]int{44, 50, 58}},
		{&o.TypeName, [3]int{46, 52, 60}},
		{&o.ListItems, [3]int{53, 59, 71}},
		{&o.VarSize, [3]int{54, 60, 72}},
		{&o.ListSize, [3]int{54, 60, 72}},
		{&o.DictKeys, [3]int{56, 66, 78}},
		{&o.DictValues, [3]int{57, 67, 79}},
		{&o.BytesData, [3]int{65, 75, 87}},
		{&o.StrState, [3]int{67, 77, 89}},
		{&o.StrLength, [3]int{68, 78, 90}},
		{&o.ASCIIData, [3]int{69, 79, 91}},
		{&o.CompactData, [3]int{0, 0, 92}},
		{&o.GenFrame, [3]int{0, 84, 100}},
		{&o.GenState, [3]int{0, 85, 101}},
	})
	// Where they are not given: compact data follows PyASCIIObject's utf8 pointer and length, and the main interpreter
	// follows the head of the list.
	o.RuntimeInterpretersMain = o.RuntimeInterpretersHead + 8
	if d.minor < 15 {
		o.CompactData = o.ASCIIData + 16
	}
}

// check returns an [UnsupportedError] for offsets that are no _Py_DebugOffsets of a version.
func (d *debugOffsets) check(v Version) error {
	if len(d.words) != debugWords[d.minor] {
		return &UnsupportedError{v, fmt.Sprintf("its debug offsets are %d words", len(d.words))}
	}
	if own := versionFromHex(uint32(d.words[debugVersion])); own != v {
		return &UnsupportedError{v, fmt.Sprintf("its debug offsets are those of %v", own)}
	}
	for _, w := range d.words[debugFreeThreaded:] {
		if w >= maxOffset {
			return &UnsupportedError{v, "its debug offsets are out of range"}
		}
	}
	return nil
}
