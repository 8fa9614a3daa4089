// Package numpy finds the places in NumPy's extension module at which blocks of array data of 1,024 bytes and more
// pass: NumPy keeps most smaller ones for itself when they are freed, and gives them out again. The facts of NumPy's
// source are here; internal/code/machine follows the values of functions.
//
// It reads ELF files through [io.ReaderAt] and does nothing else. The files are a target's and hostile.
//
// Since NumPy 1.22 array data is taken through a PyDataMem_Handler (NEP 49): a structure with a name, a version and a
// context, and pointers to four functions. The default one is found by its name, so stripped builds will do.
// PyDataMem_UserNEW and its relatives call the handler's functions, and report each block to tracemalloc; PyDataMem_NEW
// and its relatives, for C extensions, call the allocator themselves. Every function that reports anything to
// tracemalloc must be understood, else the file is refused: there is no third kind, and none is missed silently. A
// function is understood under three conditions. Each block that it reports is the result of a call with a site. The
// handler's functions ask for as much as they are asked for, and call nothing else but a few functions that are known
// to be harmless. Every way through all of them passes a call with a site, except those that only blocks of less than
// 1,024 bytes take, and that of a handler that is not there. So a build with a larger cache, or with another allocator
// for huge blocks, is refused. Source: numpy/_core/src/multiarray/alloc.cpp (numpy/core and alloc.c before 2.0),
// numpy/_core/include/numpy/ndarraytypes.h.
package numpy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/machine"
)

// IsModule recognizes NumPy's extension module by the name of its file. The name is a hint.
func IsModule(file string) bool {
	name := path.Base(file)
	return strings.HasPrefix(name, "_multiarray_umath.") && strings.HasSuffix(name, ".so")
}

// Errors of [Find].
var (
	ErrNoHandler = errors.New("it has no memory handler (NumPy before 1.22)")
	ErrUnknown   = errors.New("its code is not one that is known for sure")
)

// Refusal makes an error of [Find] of the text of one.
func Refusal(text string) error {
	if text == ErrNoHandler.Error() {
		return ErrNoHandler
	}
	return &refused{text}
}

// refused is an [ErrUnknown] of which only the text is left.
type refused struct{ text string }

// Error returns the text.
func (e *refused) Error() string { return e.text }

// Is makes it match [ErrUnknown].
func (e *refused) Is(target error) bool { return target == ErrUnknown }

// Large is the size from which on blocks pass through the sites, in bytes: alloc.c, NBUCKETS.
const Large = 1024

// Site is where something happens to a block.
type Site struct {
	machine.Site
	Block machine.Place // its address; NULL where it was refused
	Size  machine.Place // where HasSize or MaybeSize
	// HasSize reports that the size is known there, MaybeSize that it is for a large block: for a smaller one it may be
	// anything.
	HasSize, MaybeSize bool
	// Times, where HasTimes, is the factor of the size: calloc is passed the number of elements, and the size of one.
	// Their product does not overflow where there is a block.
	Times    machine.Place
	HasTimes bool
}

// Sites are where blocks are made, freed and resized. Smaller ones than [Large] may pass as well.
type Sites struct {
	Made  []Site
	Freed []Site
	// Resizing are the places where realloc is called, with the old block and the new size; Resized are those where it
	// has come back on the same thread.
	Resizing, Resized []Site
	// Handlers are the places where a memory handler is set. Their block is the handler's capsule.
	Handlers []Site
	// Handler is the address of the default handler's structure. Variable is the address of the pointer to the context
	// variable that has the current handler.
	Handler, Variable uint64
	// Segments are the loaded segments of the file.
	Segments elffile.Segments
}

// Bias returns the load bias of a process's mapping of the file.
func (s Sites) Bias(start, offset uint64) (uint64, bool) { return s.Segments.Bias(start, offset) }

// All returns every site.
func (s Sites) All() (all []Site) {
	for _, sites := range [][]Site{s.Made, s.Freed, s.Resizing, s.Resized} {
		all = append(all, sites...)
	}
	return all
}

// Offsets are all places in the file.
func (s Sites) Offsets() (all []uint64) {
	for _, site := range append(s.All(), s.Handlers...) {
		all = append(all, site.FileOffset)
	}
	return all
}

// The handler's functions, and where they are in its structure: char name[127], uint8_t version, void *ctx, and these.
const (
	handlerName = "default_allocator"
	nameSize    = 127
	mallocSlot  = 136
	callocSlot  = 144
	reallocSlot = 152
	freeSlot    = 160
)

// Find looks for the sites. It fails with [ErrNoHandler] or [ErrUnknown]; then blocks are to be seen otherwise.
func Find(r io.ReaderAt) (Sites, error) {
	code, err := machine.OpenCode(r, nil)
	if err != nil {
		return Sites{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	f := finder{code: code, routines: routines{code, map[uint64]*machine.Routine{}}, own: map[uint64]bool{},
		idle: map[uint64]bool{}, returned: map[int64]bool{}}
	f.sites.Segments = code.Segments()
	if err := f.findHandler(); err != nil {
		return Sites{}, err
	}
	if err := f.handlerFunctions(); err != nil {
		return Sites{}, err
	}
	if err := f.callers(); err != nil {
		return Sites{}, err
	}
	if err := f.settings(); err != nil {
		return Sites{}, err
	}
	if err := f.complete(); err != nil {
		return Sites{}, err
	}
	return f.sites, nil
}

// findHandler finds the default handler's structure.
func (f *finder) findHandler() error {
	pattern := make([]byte, nameSize) // the rest of the name is zeros
	copy(pattern, handlerName)
	var found []uint64
	all, ok := f.code.Find(pattern, 4)
	if !ok {
		return refuse("there is too much of it")
	}
	for _, at := range all {
		ok = true
		for _, slot := range []uint64{mallocSlot, callocSlot, reallocSlot, freeSlot} {
			_, function := f.code.Function(at + slot)
			ok = ok && function
		}
		if ok {
			found = append(found, at)
		}
	}
	switch len(found) {
	case 1:
		f.sites.Handler = found[0]
		return nil
	case 0:
		if named, ok := f.code.Find(bytes.TrimRight(pattern, "\x00"), 1); ok && len(named) == 0 {
			return ErrNoHandler
		}
	}
	return fmt.Errorf("%w: %d memory handlers", ErrUnknown, len(found))
}
