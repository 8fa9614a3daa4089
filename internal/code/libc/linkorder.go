package libc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"ipytracer/internal/code/elffile"
)

// ErrUnsettled is the error if the dynamic linker has not made its list of objects yet, or is changing the list.
var ErrUnsettled = errors.New("the dynamic linker is at work")

// maxObjects is how many loaded objects of a process are read.
const maxObjects = 4096

// LinkOrder returns the addresses of the dynamic sections of a process's loaded objects, in the order in which symbols
// are looked up: the program, the preloaded objects, then the objects that these need. memory is the process's memory,
// loader the file of its dynamic linker, and bias the loader's load bias. LinkOrder fails with [ErrUnsettled] while the
// list is not complete. It reads struct r_debug and struct link_map of link.h, as debuggers do, for glibc and musl.
func LinkOrder(memory, loader io.ReaderAt, bias uint64) (dynamic []uint64, err error) {
	at, err := debugState(loader)
	if err != nil {
		return nil, err
	}
	var state [5]uint64 // r_version, r_map, r_brk, r_state, r_ldbase
	if err := readWords(memory, bias+at, state[:]); err != nil {
		return nil, err
	}
	if state[1] == 0 || uint32(state[3]) != 0 {
		return nil, ErrUnsettled
	}
	for link := state[1]; link != 0 && len(dynamic) < maxObjects; {
		var object [4]uint64 // l_addr, l_name, l_ld, l_next
		if err := readWords(memory, link, object[:]); err != nil {
			return nil, err
		}
		dynamic = append(dynamic, object[2])
		link = object[3]
	}
	return dynamic, nil
}

// readWords fills words from memory at an address.
func readWords(r io.ReaderAt, at uint64, words []uint64) error {
	raw := make([]byte, 8*len(words))
	if n, err := r.ReadAt(raw, int64(at)); n < len(raw) {
		return fmt.Errorf("%w: read %#x: %v", ErrUnsettled, at, err)
	}
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(raw[8*i:])
	}
	return nil
}

// debugState returns the address of struct r_debug in a dynamic linker's file.
func debugState(loader io.ReaderAt) (at uint64, err error) {
	f, err := elffile.Open(loader)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	symbols, err := f.Exported()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	for name, s := range symbols {
		if name == "_r_debug" {
			return s.Value, nil
		}
	}
	return 0, fmt.Errorf("%w: the dynamic linker does not export _r_debug", ErrUnknown)
}
