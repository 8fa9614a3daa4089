// Package cuda finds the places in shared libraries at which programs ask for GPU memory and give it back. The places
// are functions of the CUDA driver (libcuda.so.1) and of its runtime, the functions by which PyTorch (libc10.so)
// reports GPU memory and tensors on the CPU, and the function by which the dynamic linker reports new libraries. It
// finds exported functions by their names and probes them where they begin, without an analysis of their code. Package
// internal/gpu lists the GPUs.
//
// The package's only effect is to read ELF files through [io.ReaderAt]. The files are a target's and hostile.
package cuda

import (
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"ipytracer/event"
	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/machine"
)

// Kind is the kind of a library.
type Kind uint8

// The kinds of libraries that are probed.
const (
	Driver  Kind = iota + 1 // libcuda.so.1
	Torch                   // libc10.so
	Loader                  // the dynamic linker
	Runtime                 // libcudart.so: it only names what the driver sees
)

// KindOf recognizes a library by the name of its file. ok is false for any other file. The name is only a hint; [Find]
// looks at the symbols.
func KindOf(file string) (kind Kind, ok bool) {
	name := path.Base(file)
	switch {
	case strings.HasPrefix(name, "libcuda.so"):
		return Driver, true
	case name == "libc10.so" || strings.HasPrefix(name, "libc10.so."):
		return Torch, true
	case strings.HasPrefix(name, "libcudart.so"), strings.HasPrefix(name, "libcudart-"): // with a hash in older wheels
		return Runtime, true
	case strings.HasPrefix(name, loaderName) || strings.HasPrefix(name, "ld-2."):
		return Loader, true
	}
	return 0, false
}

// PyTorch's functions (c10/core/Allocator.h), by mangled names with the known types of arguments: since 1.12 void*,
// int64_t, two totals of 64 bits, and c10::Device.
var (
	torchReport  = regexp.MustCompile(`^_ZN3c1027reportMemoryUsageToProfilerEPv[lmxy]{3}NS_6DeviceE$`)
	torchRefused = regexp.MustCompile(`^_ZN3c1027reportOutOfMemoryToProfilerE[lmxy]{3}NS_6DeviceE$`)
)

// The methods of c10::ProfiledCPUMemoryReporter (c10/core/CPUAllocator.h, since 1.6): New(void*, size_t),
// Delete(void*), OutOfMemory(size_t).
const (
	torchMade   = "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm"
	torchFreed  = "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv"
	torchNoRoom = "_ZN3c1025ProfiledCPUMemoryReporter11OutOfMemoryEm"
)

// loaderState is called by the dynamic linker whenever its list of libraries changes (glibc, elf/dl-debug.c).
const loaderState = "_dl_debug_state"

// Site is a place for a probe.
type Site struct {
	Symbol   string
	Offset   uint64 // in the file
	Cookie   uint64 // of functions of the driver and the runtime
	Emulated bool   // Linux emulates the instruction there, so a hit is cheap
}

// Sites are the places in one library.
type Sites struct {
	Kind    Kind
	Driver  []Site // all known functions of the driver that it exports
	Others  []Site // functions of the driver that one process calls to change another
	Runtime []Site // functions of the runtime that ask for memory or give it back
	Report  Site   // PyTorch's report of its totals
	Refused Site   // PyTorch's report that memory ran out; Symbol is "" if it has none
	Tensors Tensors
	Loader  Site
	Missing []string // functions that most libraries of the kind export, but not this one
}

// Offsets returns the file offsets of all places.
func (s Sites) Offsets() (offsets []uint64) {
	single := []Site{s.Report, s.Refused, s.Tensors.Made, s.Tensors.Freed, s.Tensors.NoRoom, s.Loader}
	for _, sites := range [][]Site{s.Driver, s.Others, s.Runtime, single} {
		for _, site := range sites {
			if site.Symbol != "" {
				offsets = append(offsets, site.Offset)
			}
		}
	}
	return offsets
}

// Tensors are the functions by which PyTorch reports tensors on the CPU.
type Tensors struct {
	Made, Freed Site // both or neither
	NoRoom      Site // reports that malloc failed; Symbol is "" if PyTorch has no such function
}

// Present reports whether the library reports tensors.
func (t Tensors) Present() bool { return t.Made.Symbol != "" }

// ErrUnknown is the error for a file that is not a library of the wanted kind.
var ErrUnknown = errors.New("not a library that GPU memory can be seen in")

// Find finds the places in a library of a kind. It fails with [ErrUnknown].
func Find(r io.ReaderAt, kind Kind) (s Sites, err error) {
	f, err := elffile.Open(r)
	if err != nil {
		return s, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	symbols, err := f.Exported()
	if err != nil {
		return s, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	s.Kind = kind
	found := map[string]bool{}
	for name, symbol := range symbols {
		if !symbol.Function || found[name] {
			continue
		}
		site, ok := siteOf(f, name, symbol.Value)
		if !ok {
			continue
		}
		if s.add(site) {
			found[name] = true
		}
	}
	return s, s.complete(found)
}

// add keeps a site if its function is one to be probed. It returns true if further symbols of that name do not count.
func (s *Sites) add(site Site) (found bool) {
	name := site.Symbol
	switch s.Kind {
	case Driver:
		if fn, known := functions[name]; known {
			site.Cookie = fn.Cookie()
			s.Driver = append(s.Driver, site)
			return true
		}
		if fn, known := checkpoints[name]; known {
			site.Cookie = fn.Cookie()
			s.Others = append(s.Others, site)
		}
	case Runtime:
		plain := strings.TrimSuffix(strings.TrimSuffix(name, "_ptsz"), "_ptds")
		if caller, known := event.ParseCaller(plain); known && plain != "" {
			site.Cookie = uint64(caller)
			s.Runtime = append(s.Runtime, site)
			return true
		}
	case Torch:
		switch {
		case torchReport.MatchString(name):
			s.Report = site
		case torchRefused.MatchString(name):
			s.Refused = site
		default:
			s.Tensors.add(site)
		}
	case Loader:
		if name == loaderState {
			s.Loader = site
		}
	}
	return false
}

// add keeps a site if its function reports tensors.
func (t *Tensors) add(site Site) {
	switch site.Symbol {
	case torchMade:
		t.Made = site
	case torchFreed:
		t.Freed = site
	case torchNoRoom:
		t.NoRoom = site
	}
}

// complete checks that the library exports what its kind needs, and lists what is missing. found has the names of the
// functions that were found.
func (s *Sites) complete(found map[string]bool) error {
	switch s.Kind {
	case Driver:
		for _, name := range required {
			if !found[name] {
				return fmt.Errorf("%w: it does not export %s", ErrUnknown, name)
			}
		}
		for name := range functions {
			_, replaced := functions[name+"_v2"]
			recent := strings.HasSuffix(name, "_v3") || strings.HasSuffix(name, "_v4")
			if !found[name] && !replaced && !recent {
				s.Missing = append(s.Missing, name)
			}
		}
	case Runtime:
		if len(s.Runtime) == 0 {
			return fmt.Errorf("%w: it exports none of the runtime's functions for memory", ErrUnknown)
		}
	case Torch:
		if s.Tensors.Made.Symbol == "" || s.Tensors.Freed.Symbol == "" { // one without the other is of no use
			s.Tensors = Tensors{}
			s.Missing = append(s.Missing, "c10::ProfiledCPUMemoryReporter (PyTorch 1.6)")
		}
		if s.Report.Symbol == "" && !s.Tensors.Present() {
			return fmt.Errorf("%w: it exports neither c10::reportMemoryUsageToProfiler with totals (PyTorch 1.12) "+
				"nor c10::ProfiledCPUMemoryReporter", ErrUnknown)
		}
	case Loader:
		if s.Loader.Symbol == "" {
			return fmt.Errorf("%w: it does not export %s", ErrUnknown, loaderState)
		}
	}
	return nil
}

// siteOf returns the site of a function, at which its arguments and its return address are still where the caller left
// them. The site is behind the instruction that marks an entry, if there is one, because Linux would have to step that
// instruction. If Linux refuses a probe there, the site is at the mark.
func siteOf(f *elffile.File, name string, vaddr uint64) (site Site, ok bool) {
	var code [16]byte
	offset, n, ok := f.CodeAt(vaddr, code[:])
	if !ok || n < 2 { // the headers may claim more than the file has
		return Site{}, false
	}
	site = Site{Symbol: name, Offset: offset}
	atSite := code[:n]
	if mark := machine.EntryMark(f.Machine(), code[:n]); n >= 8 {
		site.Offset += uint64(mark)
		atSite = code[mark:n]
	}
	if machine.Refused(f.Machine(), atSite) {
		site.Offset, atSite = offset, code[:n]
		if machine.Refused(f.Machine(), atSite) {
			return Site{}, false
		}
	}
	site.Emulated = machine.Emulated(f.Machine(), atSite)
	return site, true
}
