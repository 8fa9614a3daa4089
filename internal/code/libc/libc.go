// Package libc knows the C library, the allocators that stand in for its own, and the memory pools of Arrow. It finds
// the places where they ask the kernel for memory and where they make and free blocks, and the functions that a
// process's calls reach by way of the dynamic linker. Package internal/code/machine finds places in machine code;
// internal/python/numpy and internal/code/cuda know the blocks of NumPy and PyTorch.
//
// It reads ELF files through [io.ReaderAt] and does nothing else. The files are a target's and hostile.
package libc

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"ipytracer/internal/code/machine"
)

// IsLibc recognizes a C library by the name of its file: glibc's (libc.so.6, libc-2.31.so) or musl's. The name is a
// hint: the symbols decide.
func IsLibc(file string) bool {
	name := path.Base(file)
	return name == "libc.so.6" || strings.HasPrefix(name, "libc-2.") || strings.HasPrefix(name, "ld-musl-") ||
		strings.HasPrefix(name, "libc.musl-")
}

// ErrUnknown is the error for a file that is no C library in which the places can be found.
var ErrUnknown = errors.New("not a C library whose memory calls are known")

// Calls are the places behind the system calls of a C library's functions.
type Calls struct {
	Mmap   []machine.Site // the result, and the arguments: size, protection, flags
	Mremap []machine.Site // the result, and the arguments: address, new size
}

// Offsets are all places in the file.
func (c Calls) Offsets() (all []uint64) {
	for _, sites := range [][]machine.Site{c.Mmap, c.Mremap} {
		for _, site := range sites {
			all = append(all, site.FileOffset)
		}
	}
	return all
}

// FindCalls looks for them. It fails with [ErrUnknown].
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
