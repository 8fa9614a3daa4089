package gpu

import (
	"fmt"
	"time"
)

// CUDAState is the driver's state of a process that uses CUDA (CUprocessState in cuda.h, since CUDA 12.8).
type CUDAState int

// The states. The last two occur with tools that store the memory themselves (CUDA 13.4).
const (
	CUDARunning       CUDAState = iota
	CUDALocked                  // its calls of CUDA wait
	CUDACheckpointed            // its device memory is in the host's memory, and its calls of CUDA wait
	CUDAFailed                  // an error on the way that the driver cannot make good
	CUDACheckpointing           // another tool copies it
	CUDARestoring               // another tool copies it back
)

// String returns the driver's name of the state.
func (s CUDAState) String() string {
	names := [...]string{"RUNNING", "LOCKED", "CHECKPOINTED", "FAILED", "CHECKPOINTING", "RESTORING"}
	if s >= 0 && int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("state %d", int(s))
}

// CUDA's result codes that the tracer distinguishes (CUresult in cuda.h).
const (
	CUDAInvalidValue   = 1
	CUDAOutOfMemory    = 2
	CUDANotInitialized = 3
	CUDANoDevice       = 100
	CUDAIllegalState   = 401
	CUDANotReady       = 600 // the time to lock a process is over
	CUDANotPermitted   = 800
	CUDANotSupported   = 801
)

// CUDAError says that a call of the CUDA driver failed.
type CUDAError struct {
	Call string // its function
	Code int    // CUresult
	Name string // the driver's own name of the code, such as CUDA_ERROR_ILLEGAL_STATE
}

// Error uses the driver's own name of the failure.
func (e *CUDAError) Error() string { return e.Call + ": " + e.Name }

// NoCheckpointsError says why the driver cannot move the memory of processes.
type NoCheckpointsError struct {
	Reason  Reason // NotBuiltIn, LibraryAbsent, LibraryBroken; VersionMismatch: the driver is too old
	Detail  string // the dynamic linker's message, or the function that the driver has not
	Library string // the path of the loaded library; ""
}

// Error returns the reason as one lower-case sentence.
func (e *NoCheckpointsError) Error() string {
	switch e.Reason {
	case NotBuiltIn:
		return "this build cannot load the CUDA driver: it was made without a C compiler (CGO_ENABLED=0)"
	case LibraryAbsent:
		return "there is no " + CUDALibrary + ", which comes with NVIDIA's driver"
	case VersionMismatch:
		return "NVIDIA's driver is too old to move the memory of a process: " + e.Library + " has no " + e.Detail +
			"; that takes driver 570 or newer"
	}
	return "the CUDA driver cannot be loaded: " + e.Detail
}

// checkpointCalls are the driver's functions that Checkpoints needs (driver 570).
var checkpointCalls = [...]string{
	"cuCheckpointProcessGetState", "cuCheckpointProcessLock", "cuCheckpointProcessCheckpoint",
	"cuCheckpointProcessRestore", "cuCheckpointProcessUnlock",
}

// The indexes of checkpointCalls.
const (
	callState = iota
	callLock
	callCheckpoint
	callRestore
	callUnlock
)

// millisecondsOf returns a time as the driver expects it. It never returns 0, which the driver takes as no limit.
func millisecondsOf(d time.Duration) uint32 {
	return uint32(min(max(d.Milliseconds(), 1), 1<<31))
}
