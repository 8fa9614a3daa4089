// Package numpy finds the places in NumPy's extension module that blocks of array data of 1,024 bytes and more pass.
// NumPy keeps most smaller ones for itself when they are freed, and gives them out again. The facts of NumPy's source
// are here; internal/code/machine follows the values of functions.
//
// It reads ELF files through [io.ReaderAt] and does nothing else. The files are a target's and hostile.
//
// Since NumPy 1.22 array data is taken through a PyDataMem_Handler (NEP 49): a structure with a name, a version and a
// context, and pointers to four functions. The default one is found by its name, so stripped builds will do.
// PyDataMem_UserNEW and its relatives call the handler's functions, and report each block to tracemalloc; PyDataMem_NEW
// and its relatives, for C extensions, call the allocator themselves. Every function that reports anything to
// tracemalloc must be understood, else the file is refused: so no function is missed silently. A function is understood
// under three conditions. Each block that it reports is the result of a call with a site. The handler's functions ask
// the allocator for exactly the size that they are asked for, and otherwise call only a few functions that are known to
// be harmless. Every way through a function passes a call with a site, except ways that only blocks of less than 1,024
// bytes take, and ways without a handler. So a build with a larger cache, or with another allocator for huge blocks, is
// refused. Source: numpy/_core/src/multiarray/alloc.cpp (numpy/core and alloc.c before 2.0),
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

// Refusal returns an error of [Find] with this text: it restores an error of which only the text was kept.
func Refusal(text string) error {
	if text == ErrNoHandler.Error() {
		return ErrNoHandler
	}
	return &refused{text}
}

// refused is a restored error that matches [ErrUnknown].
type refused struct{ text string }

func (e *refused) Error() string { return e.text }

// Is makes every refused error match [ErrUnknown].
func (e *refused) Is(target error) bool { return target == ErrUnknown }

// Large is the size from which on blocks pass through the sites, in bytes: alloc.c, NBUCKETS.
const Large = 1024

// Site is an instruction at which something happens to a block, with the places of the block's address and size there.
type Site struct {
	machine.Site
	Block machine.Place // of the address, which is NULL where the allocation failed
	Size  machine.Place // of the size, if HasSize or MaybeSize
	// HasSize reports that Size has the size. MaybeSize reports that Size has the size of a large block; for a smaller
	// block Size may have any value.
	HasSize, MaybeSize bool
	// Times, if HasTimes, is the place of a factor by which the size is to be multiplied: calloc is passed the number
	// of elements, and the size of each. The product does not overflow where there is a block.
	Times    machine.Place
	HasTimes bool
}

// Sites has the sites of a file, and the addresses of its default handler. Blocks smaller than [Large] may pass the
// sites, too.
type Sites struct {
	Made  []Site
	Freed []Site
	// Resizing are the sites where realloc is called, with the old block and the new size. Resized are the sites where
	// realloc has returned, on the same thread.
	Resizing, Resized []Site
	// Handlers are the sites where a memory handler is set. Their block is the handler's capsule.
	Handlers []Site
	// Handler is the address of the default handler's structure. Variable is the address of the pointer to the context
	// variable that has the current handler.
	Handler, Variable uint64
	// Segments are the loaded segments of the file.
	Segments elffile.Segments
}

// Bias returns the load bias of a process's mapping of the file.
func (s Sites) Bias(start, offset uint64) (uint64, bool) { return s.Segments.Bias(start, offset) }

// All returns every site except Handlers.
func (s Sites) All() (all []Site) {
	for _, sites := range [][]Site{s.Made, s.Freed, s.Resizing, s.Resized} {
		all = append(all, sites...)
	}
	return all
}

// Offsets returns the file offsets of all sites.
func (s Sites) Offsets() (offsets []uint64) {
	for _, site := range append(s.All(), s.Handlers...) {
		offsets = append(offsets, site.FileOffset)
	}
	return offsets
}

// The default handler's name, and offsets in its structure: char name[127], uint8_t version, void *ctx, and four
// pointers to functions.
const (
	handlerName = "default_allocator"
	nameSize    = 127
	mallocSlot  = 136
	callocSlot  = 144
	reallocSlot = 152
	freeSlot    = 160
)

// Find finds the sites of a file. It fails with [ErrNoHandler] or [ErrUnknown]: then blocks must be probed elsewhere.
func Find(r io.ReaderAt) (Sites, error) {
	code, err := machine.OpenCode(r, nil)
	if err != nil {
		return Sites{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	f := finder{code: code, routines: routines{code, map[uint64]*machine.Routine{}}, lookedAt: map[uint64]bool{},
		idle: map[uint64]bool{}, returned: map[int64]bool{}}
	f.sites.Segments = code.Segments()
	if err := f.findHandler(); err != nil {
		return Sites{}, err
	}
	if err := f.addHandlerFunctions(); err != nil {
		return Sites{}, err
	}
	if err := f.addCallers(); err != nil {
		return Sites{}, err
	}
	if err := f.addSettings(); err != nil {
		return Sites{}, err
	}
	if err := f.mustBeComplete(); err != nil {
		return Sites{}, err
	}
	return f.sites, nil
}

// findHandler finds the default handler's structure.
func (f *finder) findHandler() error {
	pattern := make([]byte, nameSize) // the rest of the name is zeros
	copy(pattern, handlerName)
	const maxNames = 4
	named, ok := f.code.Find(pattern, maxNames)
	if !ok {
		return refuse("it has too much data to search")
	}
	var handlers []uint64
	for _, at := range named {
		if f.isHandler(at) {
			handlers = append(handlers, at)
		}
	}
	switch len(handlers) {
	case 1:
		f.sites.Handler = handlers[0]
		return nil
	case 0:
		if named, ok := f.code.Find(bytes.TrimRight(pattern, "\x00"), 1); ok && len(named) == 0 {
			return ErrNoHandler
		}
	}
	return fmt.Errorf("%w: it has %d memory handlers", ErrUnknown, len(handlers))
}

// isHandler reports whether a handler's structure, with four functions, is at an address.
func (f *finder) isHandler(at uint64) bool {
	for _, slot := range []uint64{mallocSlot, callocSlot, reallocSlot, freeSlot} {
		if _, ok := f.code.Function(at + slot); !ok {
			return false
		}
	}
	return true
}
