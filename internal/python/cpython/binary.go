package cpython

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"ipytracer/internal/code/elffile"
)

const (
	evalCodeSymbol = "PyEval_EvalCode"
	runtimeSymbol  = "_PyRuntime"
	versionSymbol  = "Py_Version"
)

// sizeof(_PyRuntimeState) in 3.9 and 3.10, where nothing else shows the version: Include/internal/pycore_runtime.h of
// 3.9.2, 3.9.18 and 3.10.13. The ELF symbol has this size in every build seen.
const (
	runtimeSize39  = 656
	runtimeSize310 = 672
)

// Binary is an ELF file that defines a CPython interpreter. It keeps the reader it was opened with and is
// safe for concurrent use when that is.
type Binary struct {
	image    *elffile.Image // nil of a Binary from Recall
	segments elffile.Segments
	version  Version
	runtime  elffile.Symbol
	debug    *debugOffsets // nil before 3.13
}

// Open parses the headers of an ELF file. The error matches [ErrNotPython] where the file does not define
// PyEval_EvalCode. It matches [ErrUnsupported] where it does but the version is not known, is older than 3.9 or newer
// than 3.15, or the machine is another one. A free-threaded build opens, so that it can be named; [Binary.Offsets] and
// [Binary.Sites] refuse it where its layout is not known.
func Open(r io.ReaderAt) (*Binary, error) {
	img, err := elffile.OpenImage(r, isAPI)
	var foreign *elffile.ForeignError
	if errors.As(err, &foreign) && elffile.Defines(r, evalCodeSymbol) {
		reason := fmt.Sprintf("built for %v, only %s is supported", foreign.Machine, elffile.NativeName)
		return nil, &UnsupportedError{Reason: reason}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotPython, err)
	}
	if s, ok := img.Symbols[evalCodeSymbol]; !ok || !s.Function {
		return nil, fmt.Errorf("%w: %s is not defined here", ErrNotPython, evalCodeSymbol)
	}
	b := &Binary{image: img, segments: img.Segments(), runtime: img.Symbols[runtimeSymbol]}
	if err := b.findVersion(); err != nil {
		return nil, err
	}
	if !b.version.isSupported() {
		return nil, &UnsupportedError{b.version, fmt.Sprintf("only 3.%d to 3.%d are known", oldestMinor, newestMinor)}
	}
	if b.version.Minor >= firstDebugOffsets {
		if b.debug, err = b.readDebugOffsets(); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// isAPI reports whether a symbol is one of CPython's.
func isAPI(name string) bool { return strings.HasPrefix(name, "Py") || strings.HasPrefix(name, "_Py") }

// findVersion reads Py_Version (3.11 and newer), the debug offsets (3.13 and newer) or the size of
// _PyRuntime.
func (b *Binary) findVersion() error {
	if b.runtime.Value == 0 {
		return &UnsupportedError{Reason: "no " + runtimeSymbol + " symbol: older than 3.7, or its symbols were removed"}
	}
	if s, ok := b.image.Symbols[versionSymbol]; ok {
		var buf [4]byte
		if err := b.image.Read(s.Value, buf[:]); err == nil {
			b.version = versionFromHex(binary.LittleEndian.Uint32(buf[:]))
			return nil
		}
	}
	var head [16]byte
	if err := b.image.Read(b.runtime.Value, head[:]); err == nil && bytes.Equal(head[:8], debugCookie) {
		b.version = versionFromHex(binary.LittleEndian.Uint32(head[8:]))
		return nil
	}
	switch b.runtime.Size {
	case runtimeSize39:
		b.version = Version{3, 9, -1}
	case runtimeSize310:
		b.version = Version{3, 10, -1}
	default:
		return &UnsupportedError{Reason: fmt.Sprintf("cannot tell the version (%s of %d bytes); "+
			"only 3.%d to 3.%d are known", runtimeSymbol, b.runtime.Size, oldestMinor, newestMinor)}
	}
	return nil
}

// Version returns the interpreter's version.
func (b *Binary) Version() Version { return b.version }

// FreeThreaded reports whether the build has no GIL (_Py_DebugOffsets.free_threaded, 3.13 and newer).
func (b *Binary) FreeThreaded() bool { return b.debug != nil && b.debug.freeThreaded() }

// RuntimeAddress returns the virtual address of _PyRuntime in the file; add the load bias for a process.
func (b *Binary) RuntimeAddress() uint64 { return b.runtime.Value }

// Bias returns the load bias of a process's mapping of this file, see [elffile.File.Bias].
func (b *Binary) Bias(start, offset uint64) (bias uint64, ok bool) {
	return b.segments.Bias(start, offset)
}

// newestFreeThreaded is the last minor version with a free-threaded build that was looked at.
const newestFreeThreaded = 14

// checkLayout returns an [UnsupportedError] for builds with an unknown layout of objects.
func (b *Binary) checkLayout() error {
	if b.FreeThreaded() && b.version.Minor > newestFreeThreaded {
		return &UnsupportedError{b.version,
			"free-threaded build (no GIL): the layout of its objects is not known yet; use a build with the GIL"}
	}
	return nil
}

// Offsets returns the build's offsets: its own _Py_DebugOffsets where it has them, the version's table
// otherwise. The error matches [ErrUnsupported] for a free-threaded build that is not known.
func (b *Binary) Offsets() (Offsets, error) {
	if err := b.checkLayout(); err != nil {
		return Offsets{}, err
	}
	o := tableOffsets(b.version.Minor)
	if b.FreeThreaded() {
		tableFreeThreaded(&o, b.version.Minor)
	}
	if b.debug != nil {
		b.debug.apply(&o)
	}
	return o, nil
}

func (b *Binary) readDebugOffsets() (*debugOffsets, error) {
	count := debugWords[b.version.Minor]
	buf := make([]byte, 8+8*count)
	if err := b.image.Read(b.runtime.Value, buf); err != nil {
		return nil, fmt.Errorf("%w: %s is not in the file", ErrNotPython, runtimeSymbol)
	}
	if !bytes.Equal(buf[:8], debugCookie) {
		return nil, &UnsupportedError{b.version, "no debug offsets at " + runtimeSymbol}
	}
	d := &debugOffsets{minor: b.version.Minor, words: make([]uint64, count)}
	for i := range d.words {
		d.words[i] = binary.LittleEndian.Uint64(buf[8+8*i:])
	}
	if err := d.check(b.version); err != nil {
		return nil, err
	}
	return d, nil
}
