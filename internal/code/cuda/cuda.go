// Package cuda finds the places in shared libraries at which GPU memory is asked for and given back: the exported
// functions of the CUDA driver (libcuda.so.1), the functions of PyTorch (libc10.so) and of the dynamic linker that
// report it, and the functions in libc10.so that report tensors on the CPU. Functions are known by name and probed
// where they begin: nothing of their code is analysed. Package internal/gpu lists the GPUs.
//
// It reads ELF files through [io.ReaderAt] and does nothing else. The files are a target's and hostile.
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

// The kinds of library that probes go on.
const (
	Driver  Kind = iota + 1 // libcuda.so.1
	Torch                   // libc10.so
	Loader                  // the dynamic linker
	Runtime                 // libcudart.so: it only names what the driver sees
)

// KindOf recognizes a library by the name of its file; ok is false for all others. The name is a hint: the symbols
// decide.
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

// Operation is the operation of a function of the CUDA driver.
type Operation uint8

// Function is an exported function of the CUDA driver with the task of its probes.
type Function struct {
	Operation Operation
	// Argument is the number, from 0, of the argument that names the device; only where Operation leaves it open.
	Argument uint8
	// Narrow: the version of CUDA 3.1 and before, in which addresses and sizes have 32 bits.
	Narrow bool
}

// Cookie is the number by which the BPF program knows the function (bpf/wire_cuda.h, enum cuda_operation).
func (f Function) Cookie() uint64 {
	cookie := uint64(f.Operation) | uint64(f.Argument)<<8
	if f.Narrow {
		cookie |= 1 << 16
	}
	return cookie
}

// functions of the driver by exported name: cuda.h of CUDA 3.2 to 13. A name without a suffix is the version of the API
// before the first _v2. _ptsz and _ptds are the same calls on the per-thread default stream.
var functions = map[string]Function{
	"cuMemAlloc": {Operation: Alloc, Narrow: true}, "cuMemAlloc_v2": {Operation: Alloc},
	"cuMemFree": {Operation: Free, Narrow: true}, "cuMemAllocPitch": {Operation: AllocPitch, Narrow: true},
	"cuArrayCreate": {Operation: Array, Narrow: true}, "cuArray3DCreate": {Operation: Array3D, Narrow: true},
	"cuMemAllocPitch_v2": {Operation: AllocPitch}, "cuMemAllocManaged": {Operation: Alloc},
	"cuMemAllocAsync": {Operation: AllocAsync}, "cuMemAllocAsync_ptsz": {Operation: AllocAsync},
	"cuMemAllocFromPoolAsync": {Operation: AllocPool}, "cuMemAllocFromPoolAsync_ptsz": {Operation: AllocPool},
	"cuMemFree_v2": {Operation: Free}, "cuMemFreeAsync": {Operation: Free}, "cuMemFreeAsync_ptsz": {Operation: Free},
	"cuMemHostAlloc": {Operation: HostAlloc}, "cuMemAllocHost": {Operation: HostAlloc},
	"cuMemAllocHost_v2": {Operation: HostAlloc},
	"cuMemFreeHost":     {Operation: HostFree}, "cuMemHostRegister": {Operation: HostRegister},
	"cuMemHostRegister_v2": {Operation: HostRegister}, "cuMemHostUnregister": {Operation: HostFree},
	"cuMemCreate": {Operation: Create}, "cuMemRelease": {Operation: Release}, "cuMemMap": {Operation: Map},
	"cuMemUnmap":                  {Operation: Unmap},
	"cuMemRetainAllocationHandle": {Operation: RetainHandle}, "cuMemImportFromShareableHandle": {Operation: Import},
	"cuIpcOpenMemHandle": {Operation: IPCOpen}, "cuIpcOpenMemHandle_v2": {Operation: IPCOpen},
	"cuIpcCloseMemHandle": {Operation: IPCClose},
	"cuArrayCreate_v2":    {Operation: Array}, "cuArray3DCreate_v2": {Operation: Array3D},
	"cuArrayDestroy":         {Operation: ArrayDestroy},
	"cuMipmappedArrayCreate": {Operation: Mipmap}, "cuMipmappedArrayDestroy": {Operation: ArrayDestroy},
	"cuMemPoolCreate": {Operation: PoolCreate}, "cuDeviceGetDefaultMemPool": {Operation: PoolDefault},
	"cuDeviceGetMemPool": {Operation: PoolDefault},
	"cuCtxCreate":        {Operation: ContextCreate, Argument: 2},
	"cuCtxCreate_v2":     {Operation: ContextCreate, Argument: 2},
	"cuCtxCreate_v3":     {Operation: ContextCreate, Argument: 4},
	"cuCtxCreate_v4":     {Operation: ContextCreate, Argument: 3},
	"cuCtxDestroy":       {Operation: ContextDestroy}, "cuCtxDestroy_v2": {Operation: ContextDestroy},
	"cuCtxSetCurrent": {Operation: ContextSet}, "cuCtxPushCurrent": {Operation: ContextPush},
	"cuCtxPushCurrent_v2": {Operation: ContextPush}, "cuCtxPopCurrent": {Operation: ContextPop},
	"cuCtxPopCurrent_v2":       {Operation: ContextPop},
	"cuDevicePrimaryCtxRetain": {Operation: PrimaryRetain}, "cuDevicePrimaryCtxRelease": {Operation: PrimaryRelease},
	"cuDevicePrimaryCtxRelease_v2": {Operation: PrimaryRelease}, "cuDevicePrimaryCtxReset": {Operation: PrimaryReset},
	"cuDevicePrimaryCtxReset_v2": {Operation: PrimaryReset},
}

// checkpoints are called by other processes than the one they are about (CUDA 12.8).
var checkpoints = map[string]Function{
	"cuCheckpointProcessCheckpoint": {Operation: Checkpoint}, "cuCheckpointProcessRestore": {Operation: Restore},
}

// The least that a driver must export to be of any use.
var required = []string{"cuMemAlloc_v2", "cuMemFree_v2"}

// PyTorch's functions, by the mangled name with the argument types that are known: since 1.12 (void*, int64_t, two
// totals of 64 bits, c10::Device), c10/core/Allocator.h.
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
	Cookie   uint64 // driver only
	Emulated bool   // the kernel emulates the instruction there, so a hit is cheap
}

// Sites are the places in one library.
type Sites struct {
	Kind    Kind
	Driver  []Site // every function that is known and exported
	Others  []Site // functions of the driver that other processes call about this one
	Runtime []Site // its functions that take memory or give it back
	Report  Site   // PyTorch's totals
	Refused Site   // PyTorch's out-of-memory report; Symbol is "" where it has none
	Tensors Tensors
	Loader  Site
	Missing []string // exported by most drivers, not by this one
}

// Offsets are all places in the file.
func (s Sites) Offsets() (all []uint64) {
	single := []Site{s.Report, s.Refused, s.Tensors.Made, s.Tensors.Freed, s.Tensors.NoRoom, s.Loader}
	for _, sites := range [][]Site{s.Driver, s.Others, s.Runtime, single} {
		for _, site := range sites {
			if site.Symbol != "" {
				all = append(all, site.Offset)
			}
		}
	}
	return all
}

// Tensors are the places where PyTorch reports tensors on the CPU.
type Tensors struct {
	Made, Freed Site // both or none
	NoRoom      Site // malloc had none; Symbol is "" where PyTorch does not report it
}

// Present reports whether the library reports tensors.
func (t Tensors) Present() bool { return t.Made.Symbol != "" }

// ErrUnknown is the error for a library that does not export the wanted functions.
var ErrUnknown = errors.New("not a library that GPU memory can be seen in")

// Find looks for the places in a library of a kind. It fails with [ErrUnknown].
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
		switch kind {
		case Driver:
			if fn, known := functions[name]; known {
				site.Cookie = fn.Cookie()
				s.Driver = append(s.Driver, site)
				found[name] = true
			} else if fn, known := checkpoints[name]; known {
				site.Cookie = fn.Cookie()
				s.Others = append(s.Others, site)
			}
		case Runtime:
			plain := strings.TrimSuffix(strings.TrimSuffix(name, "_ptsz"), "_ptds")
			if caller, known := event.ParseCaller(plain); known && plain != "" {
				site.Cookie = uint64(caller)
				s.Runtime = append(s.Runtime, site)
				found[name] = true
			}
		case Torch:
			if torchReport.MatchString(name) {
				s.Report = site
			} else if torchRefused.MatchString(name) {
				s.Refused = site
			} else {
				s.Tensors.add(site)
			}
		case Loader:
			if name == loaderState {
				s.Loader = site
			}
		}
	}
	return s, s.complete(found)
}

// add files a site if it is one of these.
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

func (s *Sites) complete(found map[string]bool) error {
	switch s.Kind {
	case Driver:
		for _, name := range required {
			if !found[name] {
				return fmt.Errorf("%w: it does not export %s", ErrUnknown, name)
			}
		}
		for name := range functions {
			if _, replaced := functions[name+"_v2"]; !found[name] && !replaced && !strings.HasSuffix(name, "_v3") &&
				!strings.HasSuffix(name, "_v4") {
				s.Missing = append(s.Missing, name)
			}
		}
	case Runtime:
		if len(s.Runtime) == 0 {
			return fmt.Errorf("%w: it exports none of the runtime's functions for memory", ErrUnknown)
		}
	case Torch:
		if s.Tensors.Made.Symbol == "" || s.Tensors.Freed.Symbol == "" { // one alone is of no use
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

// siteOf returns the place at which a function's arguments and return address are where its caller left them: behind
// the mark of the entry if there is one, as that instruction would be single-stepped; at the mark where no probe can be
// behind it.
func siteOf(f *elffile.File, name string, vaddr uint64) (Site, bool) {
	var code [16]byte
	offset, n, ok := f.CodeAt(vaddr, code[:])
	if !ok || n < 2 { // the headers may claim more than the file has
		return Site{}, false
	}
	site, first := Site{Symbol: name, Offset: offset}, code[:n]
	if mark := machine.EntryMark(f.Machine(), first); n >= 8 {
		site.Offset += uint64(mark)
		first = first[mark:]
	}
	if machine.Refused(f.Machine(), first) {
		if site.Offset, first = offset, code[:n]; machine.Refused(f.Machine(), first) {
			return Site{}, false
		}
	}
	site.Emulated = machine.Emulated(f.Machine(), first)
	return site, true
}
