package process

import (
	"errors"
	"io"
	"path"
	"slices"
	"strings"
)

// Detect reports whether an ELF file is a Python interpreter, because it defines PyEval_EvalCode. The file belongs to
// the traced process and is hostile, so a Detect must bound what it reads and must not panic.
type Detect func(io.ReaderAt) bool

// maxInterpreterFiles is how many files of a process are searched. One with PyTorch and CUDA maps about 300 libraries.
const maxInterpreterFiles = 1024

// InterpreterFile finds and opens the file with the Python interpreter of a process: its executable or a shared
// library. It tries files that are named like an interpreter first, then the executable, then all others in order of
// address. The Mapping of the result is the first executable one of the file. The caller closes the file.
//
// It fails with [ErrNotPython] if no file is an interpreter, with [ErrNotPermitted] or [ErrNoAnswer] if some file could
// not be read, and with [ErrZombie] or [ErrNoProcess].
func (i Image) InterpreterFile(detect func(*MappedFile) bool) (*MappedFile, error) {
	st, err := i.proc.Stat()
	if err != nil {
		return nil, err
	}
	if st.Ended() {
		return nil, &Error{PID: i.proc.pid, Kind: ErrZombie}
	}
	candidates, err := i.candidates()
	if err != nil {
		return nil, err
	}
	var refused error
	for _, m := range candidates[:min(len(candidates), maxInterpreterFiles)] {
		f, err := i.OpenMapping(m)
		switch {
		case errors.Is(err, ErrNoProcess), errors.Is(err, ErrZombie):
			return nil, err
		case errors.Is(err, ErrNotPermitted), errors.Is(err, ErrNoAnswer):
			refused = err
		case err == nil && detect(f):
			return f, nil
		case err == nil:
			if silent := i.proc.fs.Helper.silence(i.proc.pid, m); silent != nil {
				refused = silent
			}
			f.File.Close()
		}
	}
	if refused != nil {
		return nil, refused
	}
	return nil, &Error{PID: i.proc.pid, Kind: ErrNotPython}
}

// candidates returns the first executable mapping of each file, the likeliest interpreter first.
func (i Image) candidates() ([]Mapping, error) {
	seen := make(map[FileID]bool)
	var found []Mapping
	for m, err := range i.Mappings() {
		if err != nil {
			return nil, err
		}
		if m.Perm&Exec == 0 || m.File.Inode == 0 || seen[m.File] {
			continue
		}
		seen[m.File] = true
		found = append(found, m)
	}
	exe, _ := i.proc.ExeName() // it only matters for the order
	rank := func(m Mapping) int {
		switch {
		case namedLikePython(m.Path):
			return 0
		case m.Path == exe:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(found, func(a, b Mapping) int { return rank(a) - rank(b) })
	return found, nil
}

// namedLikePython reports whether a file has a name such as python3.11 or libpython3.11.so.1.0.
func namedLikePython(file string) bool {
	base := path.Base(file)
	return strings.HasPrefix(base, "python") || strings.HasPrefix(base, "libpython")
}
