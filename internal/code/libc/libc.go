// Package libc knows the C library, allocators that replace the C library's own, and the memory pools of Arrow. It
// finds the places at which they ask Linux for memory and at which they make and free blocks. It also finds the
// functions that a process's calls reach through the dynamic linker. Package internal/code/machine finds places in
// machine code; internal/python/numpy and internal/code/cuda know the blocks of NumPy and PyTorch.
//
// The package's only effect is to read ELF files through [io.ReaderAt]. The files are a target's and hostile.
package libc

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"ipytracer/internal/code/machine"
)

// IsLibc recognizes a C library by the name of its file: glibc's (libc.so.6, libc-2.31.so) or musl's. The name is only
// a hint; [FindCalls] looks at the symbols.
func IsLibc(file string) bool {
	name := path.Base(file)
	return name == "libc.so.6" || strings.HasPrefix(name, "libc-2.") || strings.HasPrefix(name, "ld-musl-") ||
		strings.HasPrefix(name, "libc.musl-")
}

// ErrUnknown is the error for a file that is no C library, or one whose places cannot be found.
var ErrUnknown = errors.New("not a C library whose memory calls are known")

// Calls are the places behind the system calls that a C library's functions make.
type Calls struct {
	Mmap   []machine.Site // the result, and the arguments: size, protection, flags
	Mremap []machine.Site // the result, and the arguments: address, new size
}

// Offsets returns the file offsets of all places.
func (c Calls) Offsets() (offsets []uint64) {
	for _, sites := range [][]machine.Site{c.Mmap, c.Mremap} {
		for _, site := range sites {
			offsets = append(offsets, site.FileOffset)
		}
	}
	return offsets
}

// FindCalls finds the places in a C library. It fails with [ErrUnknown].
func FindCalls(r io.ReaderAt) (Calls, error) {
	l, err := machine.OpenLibrary(r, "mmap", "mremap")
	if err != nil {
		return Calls{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	c := Calls{Mmap: l.SystemCalls("mmap"), Mremap: l.SystemCalls("mremap")}
	if len(c.Mmap) == 0 {
		return c, fmt.Errorf("%w: no system call in mmap", ErrUnknown)
	}
	return c, nil
}
