// Package cpython holds the facts about builds of CPython. The builds are those of 3.9 to 3.15, and free-threaded ones
// of 3.13 and 3.14 without their objects. It decides which of their functions are probed; internal/code/machine finds
// the places in them, and internal/python/holders reads objects.
//
// A [Binary] is the ELF file that defines the interpreter (the python3.X executable or libpython). It has the version,
// the field offsets the BPF programs need ([Binary.Offsets]) and the places for plain uprobes ([Binary.Sites]). An
// [Interpreter] is the same binary seen in a live process: it finds IPython's own objects in the process's memory.
// [FirstLine] reads a code object's line table.
//
// The package reads through [io.ReaderAt] and does nothing else: no process is opened, stopped or written to. Both
// inputs, the file and the memory, are hostile: every walk, string and table is bounded, and contents that do not look
// right are an error or a zero, never a panic.
//
// Facts come from the CPython sources named beside them and were checked against Debian, pyenv and
// python-build-standalone builds (see the tests).
package cpython

import (
	"errors"
	"fmt"
)

var (
	// ErrNotPython is the error for a file that is not an ELF file that defines PyEval_EvalCode.
	ErrNotPython = errors.New("not a CPython interpreter")
	// ErrUnsupported is the error for a CPython that this package does not know how to look into. The error that
	// matches it is an [UnsupportedError].
	ErrUnsupported = errors.New("unsupported CPython build")
	// ErrMalformed is the error where memory or a file does not hold the contents that a CPython of that version keeps
	// there.
	ErrMalformed = errors.New("not what this CPython version keeps there")
	// ErrNotFound is the error where a name is absent from a module or from sys.modules.
	ErrNotFound = errors.New("not found")
)

// UnsupportedError is a CPython that cannot be looked into, with the reason in words for a person.
type UnsupportedError struct {
	Version Version // zero where it is not known
	Reason  string
}

// Error returns the reason, with the version where it is known.
func (e *UnsupportedError) Error() string {
	if e.Version.Minor == 0 {
		return fmt.Sprintf("%v: %s", ErrUnsupported, e.Reason)
	}
	return fmt.Sprintf("%v %v: %s", ErrUnsupported, e.Version, e.Reason)
}

// Is makes every UnsupportedError match [ErrUnsupported].
func (e *UnsupportedError) Is(target error) bool { return target == ErrUnsupported }

// Version is a CPython version. Micro is -1 where the file does not have it (3.9 and 3.10).
type Version struct {
	Major, Minor, Micro int
}

// String returns "3.13.5", or "3.9" where the micro version is unknown.
func (v Version) String() string {
	if v.Micro < 0 {
		return fmt.Sprintf("%d.%d", v.Major, v.Minor)
	}
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Micro)
}

// versionFromHex decodes PY_VERSION_HEX (Include/patchlevel.h): major, minor, micro, level and serial.
func versionFromHex(h uint32) Version {
	return Version{Major: int(h >> 24), Minor: int(h >> 16 & 0xff), Micro: int(h >> 8 & 0xff)}
}

// The range of minor versions of Python 3 that this package knows.
const (
	oldestMinor = 9
	newestMinor = 15
)

func (v Version) isSupported() bool {
	return v.Major == 3 && v.Minor >= oldestMinor && v.Minor <= newestMinor
}
