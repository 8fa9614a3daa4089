//go:build cgo

package gpu

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

typedef int (*init_call)(unsigned int);
typedef int (*state_call)(int, int *);
typedef int (*step_call)(int, void *);
typedef int (*name_call)(int, const char **);

// CUcheckpointLockArgs: a time in milliseconds, the rest is zero. The other calls' arguments may be left out.
struct lock_arguments {
	unsigned int timeout, reserved;
	uint64_t more[7];
};

static int call_init(void *f) { return ((init_call)f)(0); }
static int call_state(void *f, int pid, int *state) { return ((state_call)f)(pid, state); }
static int call_step(void *f, int pid) { return ((step_call)f)(pid, NULL); }

static int call_lock(void *f, int pid, unsigned int timeout)
{
	struct lock_arguments arguments = { .timeout = timeout };
	return ((step_call)f)(pid, &arguments);
}

static const char *call_name(void *f, int code)
{
	const char *name = NULL;
	return ((name_call)f)(code, &name) == 0 ? name : NULL;
}
*/
import "C"

import (
	"fmt"
	"strings"
	"time"
	"unsafe"
)

// Checkpoints has the driver's calls that move the device memory of a process to the host and back: the functions of
// libcuda.so.1, which is loaded into this program. A call cannot be interrupted, and takes as long as the memory takes
// to be copied. Checkpoints is not safe for concurrent use.
type Checkpoints struct {
	calls   [len(checkpointCalls)]unsafe.Pointer
	name    unsafe.Pointer
	started error // of cuInit: most calls do without
}

// OpenCheckpoints loads the driver and initializes it; it is never unloaded. Restoring memory needs an initialized
// driver if the GPU's persistence mode is off. OpenCheckpoints fails with a [*NoCheckpointsError].
func OpenCheckpoints() (*Checkpoints, error) {
	handle, path, err := loadCUDA()
	if err != nil {
		return nil, err
	}
	c := &Checkpoints{name: symbol(handle, "cuGetErrorName")}
	for i, name := range checkpointCalls {
		if c.calls[i] = symbol(handle, name); c.calls[i] == nil {
			return nil, &NoCheckpointsError{Reason: VersionMismatch, Detail: name, Library: path}
		}
	}
	init := symbol(handle, "cuInit")
	if init == nil {
		return nil, &NoCheckpointsError{Reason: LibraryBroken, Detail: path + " has no cuInit"}
	}
	c.started = c.result("cuInit", C.call_init(init))
	return c, nil
}

// State returns the state of a process.
func (c *Checkpoints) State(pid int) (CUDAState, error) {
	var state C.int
	err := c.done(callState, C.call_state(c.calls[callState], C.int(pid), &state))
	return CUDAState(state), err
}

// Lock waits until a process's work on its GPUs is over, and then makes its calls of CUDA wait. If the work takes
// longer than patience, Lock fails with the code [CUDANotReady], and the process runs on.
func (c *Checkpoints) Lock(pid int, patience time.Duration) error {
	return c.done(callLock, C.call_lock(c.calls[callLock], C.int(pid), C.uint(millisecondsOf(patience))))
}

// Checkpoint moves the device memory of a locked process to the host, and releases its devices.
func (c *Checkpoints) Checkpoint(pid int) error { return c.step(callCheckpoint, pid) }

// Restore moves the memory back to the device. The process stays locked.
func (c *Checkpoints) Restore(pid int) error { return c.step(callRestore, pid) }

// Unlock lets a locked process go on.
func (c *Checkpoints) Unlock(pid int) error { return c.step(callUnlock, pid) }

func (c *Checkpoints) step(call, pid int) error {
	return c.done(call, C.call_step(c.calls[call], C.int(pid)))
}

// done returns the error of a call's result. If the driver could not be initialized, done returns that error instead.
func (c *Checkpoints) done(call int, code C.int) error {
	if c.started != nil && (code == CUDANotInitialized || call == callRestore && code != 0) {
		return c.started
	}
	return c.result(checkpointCalls[call], code)
}

func (c *Checkpoints) result(call string, code C.int) error {
	if code == 0 {
		return nil
	}
	e := &CUDAError{Call: call, Code: int(code), Name: fmt.Sprintf("CUDA error %d", int(code))}
	if c.name != nil {
		if name := C.call_name(c.name, code); name != nil {
			e.Name = C.GoString(name)
		}
	}
	return e
}

func symbol(handle unsafe.Pointer, name string) unsafe.Pointer {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	return C.dlsym(handle, text)
}

// loadCUDA loads the library, from the same places as [Open] loads NVML.
func loadCUDA() (handle unsafe.Pointer, path string, err error) {
	var first string
	for _, path := range append([]string{CUDALibrary}, inUsualPlaces(CUDALibrary)...) {
		text := C.CString(path)
		handle := C.dlopen(text, C.RTLD_NOW|C.RTLD_LOCAL)
		C.free(unsafe.Pointer(text))
		if handle != nil {
			return handle, path, nil
		}
		if why := C.GoString(C.dlerror()); first == "" &&
			!(strings.HasPrefix(why, CUDALibrary+":") && strings.Contains(why, "No such file")) {
			first = why
		}
	}
	if first != "" {
		return nil, "", &NoCheckpointsError{Reason: LibraryBroken, Detail: first}
	}
	return nil, "", &NoCheckpointsError{Reason: LibraryAbsent}
}
