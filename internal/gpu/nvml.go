//go:build cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/dl"
	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// NVML is an open NVML. Its methods may be called from several goroutines: NVML serializes its calls where needed.
type NVML struct {
	lib nvml.Interface
}

// shared is go-nvml's state, one for the whole process. When NVML is first started, go-nvml chooses the versions of its
// functions, in global variables. It forgets them when NVML was shut down as often as it was started.
var shared struct {
	sync.Mutex // held while NVML is started or shut down
	lib        nvml.Interface
}

// loaded is the library. It is loaded once and never unloaded, because go-nvml's calls are bound to the addresses of
// the first library that was loaded.
var loaded struct {
	sync.Mutex
	handle *dl.DynamicLibrary
	path   string
}

// canLoad says that this program can load the library.
const canLoad = true

// readOnce starts NVML, takes a snapshot and shuts NVML down.
func readOnce(context.Context) (Snapshot, error) {
	n, err := Open()
	if err != nil {
		return Snapshot{}, err
	}
	defer n.Close()
	return n.Snapshot()
}

// Open loads and starts NVML. It fails with a [*NoNVMLError]. The caller must call Close after each success. The first
// call may take seconds if the driver must wake the GPUs (persistence mode off).
func Open() (*NVML, error) {
	path, err := load()
	if err != nil {
		return nil, err
	}
	// Calling a function that the library lacks ends the process, because the dynamic linker resolves it only then. So
	// this package checks for each function first. These functions are in every NVML.
	for _, names := range [][]string{
		{"nvmlInit_v2", "nvmlInit"}, {"nvmlShutdown"}, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"},
		{"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"},
	} {
		if !has(names...) {
			return nil, &NoNVMLError{Reason: LibraryBroken,
				Detail: fmt.Sprintf("%s has no function %s", path, names[0])}
		}
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.lib == nil {
		shared.lib = nvml.New(nvml.WithLibraryPath(path))
	}
	if ret := shared.lib.Init(); ret != nvml.SUCCESS {
		return nil, noNVML(ret)
	}
	return &NVML{lib: shared.lib}, nil
}

// Close shuts NVML down. No method of n may run any more.
func (n *NVML) Close() {
	shared.Lock()
	defer shared.Unlock()
	n.lib.Shutdown()
}

// load loads the library if it is not loaded yet, and returns its path.
func load() (string, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.handle != nil {
		return loaded.path, nil
	}
	var failures []error
	for _, path := range append([]string{Library}, inUsualPlaces(Library)...) {
		handle := dl.New(path, dl.RTLD_LAZY|dl.RTLD_GLOBAL)
		err := handle.Open()
		if err == nil {
			loaded.handle, loaded.path = handle, path
			return path, nil
		}
		failures = append(failures, err)
	}
	for _, err := range failures {
		if !strings.Contains(err.Error(), "No such file or directory") {
			return "", &NoNVMLError{Reason: LibraryBroken, Detail: err.Error()}
		}
	}
	if first := failures[0].Error(); !strings.HasPrefix(first, Library+":") { // a library it needs is not there
		return "", &NoNVMLError{Reason: LibraryBroken, Detail: first}
	}
	return "", &NoNVMLError{Reason: LibraryAbsent}
}

// has reports whether the library has one of the functions.
func has(names ...string) bool {
	loaded.Lock()
	defer loaded.Unlock()
	for _, name := range names {
		if loaded.handle.Lookup(name) == nil {
			return true
		}
	}
	return false
}

// noNVML returns the error for a result of nvmlInit.
func noNVML(ret nvml.Return) error {
	e := &NoNVMLError{Reason: Failed, Detail: words(ret)}
	switch ret {
	case nvml.ERROR_DRIVER_NOT_LOADED:
		e.Reason = DriverNotLoaded
	case nvml.ERROR_NO_PERMISSION:
		e.Reason = NoPermission
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		e.Reason = VersionMismatch
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		e.Reason = LibraryAbsent
	}
	return e
}

// errMissing says that the installed library lacks a function.
var errMissing = errors.New("this NVML cannot tell")

// failed returns the error of a return code; nil for success.
func failed(ret nvml.Return) error {
	if ret == nvml.SUCCESS {
		return nil
	}
	return errors.New(words(ret))
}

// words describes a return code. It does not call nvmlErrorString, which may be missing, too.
func words(ret nvml.Return) string {
	switch ret {
	case nvml.ERROR_NOT_SUPPORTED:
		return "not supported"
	case nvml.ERROR_NO_PERMISSION:
		return "no permission"
	case nvml.ERROR_NOT_FOUND:
		return "not found"
	case nvml.ERROR_GPU_IS_LOST:
		return "the GPU is lost: it fell off the bus or does not answer"
	case nvml.ERROR_RESET_REQUIRED:
		return "the GPU needs a reset"
	case nvml.ERROR_INSUFFICIENT_POWER:
		return "the GPU's power cables are not plugged in"
	case nvml.ERROR_IRQ_ISSUE:
		return "the kernel has a problem with the GPU's interrupts"
	case nvml.ERROR_FUNCTION_NOT_FOUND:
		return errMissing.Error()
	case nvml.ERROR_IN_USE:
		return "the GPU is in use"
	case nvml.ERROR_MEMORY:
		return "out of memory"
	case nvml.ERROR_UNKNOWN:
		return "an unknown error"
	}
	return fmt.Sprintf("NVML error %d", int(ret))
}
