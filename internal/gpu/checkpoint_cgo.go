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

// Checkpoints are the driver's calls that move the device memory of a process to the host and back: those of
// libcuda.so.1, loaded into this very program. A call cannot be interrupted, and takes as long as the memory takes to
// be copied. Not for concurrent use.
type Checkpoints struct {
	calls   [len(checkpointCalls)]unsafe.Pointer
	name    unsafe.Pointer
	started error // of cuInit: most calls do without
}

// OpenCheckpoints loads the driver, for ever, and starts it: bringing memory back takes a driver that is started, where
// the GPU's persistence mode is off. It fails with a [*NoCheckpointsError].
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

// Lock makes a process's calls of CUDA wait, once its work on its GPUs is over. If that takes longer than patience, the
// error's code is [CUDANotReady], and the process runs on.
func (c *Checkpoints) Lock(pid int, patience time.Duration) error {
	return c.done(callLock, C.call_lock(c.calls[callLock], C.int(pid), C.uint(millisecondsOf(patience))))
}

// Checkpoint moves the device memory of a process that is locked to the host, and lets its devices go.
func (c *Checkpoints) Checkpoint(pid int) error { return c.step(callCheckpoint, pid) }

// Restore moves the memory back to the device. The process stays locked.
func (c *Checkpoints) Restore(pid int) error { return c.step(callRestore, pid) }

// Unlock lets a process that is locked go on.
func (c *Checkpoints) Unlock(pid int) error { return c.step(callUnlock, pid) }

func (c *Checkpoints) step(call, pid int) error {
	return c.done(call, C.call_step(c.calls[call], C.int(pid)))
}

// done makes an error of a call's result. If the driver is not started, the error has the reason for that, too.
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

// loadCUDA loads the library, as [Open] does NVML's.
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
