package gpu

import "errors"

// ErrNoNVML matches every [*NoNVMLError].
var ErrNoNVML = errors.New("no NVML")

// Reason says why NVML cannot be used.
type Reason int

// The reasons.
const (
	NotBuiltIn      Reason = iota // this program was built without cgo
	LibraryAbsent                 // libnvidia-ml.so.1 is nowhere
	LibraryBroken                 // it is there and cannot be loaded, or lacks functions of every NVML
	DriverNotLoaded               // the kernel has no NVIDIA driver, or no GPU that it serves
	NoPermission                  // this user may not open the devices
	VersionMismatch               // library and kernel driver are of different versions
	Failed                        // anything else
)

// String returns the reason in one word, for JSON.
func (r Reason) String() string {
	switch r {
	case NotBuiltIn:
		return "not-built-in"
	case LibraryAbsent:
		return "library-absent"
	case LibraryBroken:
		return "library-broken"
	case DriverNotLoaded:
		return "driver-not-loaded"
	case NoPermission:
		return "no-permission"
	case VersionMismatch:
		return "version-mismatch"
	}
	return "failed"
}

// NoNVMLError says that NVML cannot be used, and why.
type NoNVMLError struct {
	Reason Reason
	Detail string // the message of the dynamic linker or NVML; ""
}

// Error returns the reason as one lower-case sentence.
func (e *NoNVMLError) Error() string {
	var text string
	switch e.Reason {
	case NotBuiltIn:
		return "this build has no NVML: it was made without a C compiler (CGO_ENABLED=0)"
	case LibraryAbsent:
		return "NVML is not installed: there is no " + Library + ", which comes with NVIDIA's driver"
	case LibraryBroken:
		text = "NVML cannot be loaded"
	case DriverNotLoaded:
		return "NVML is installed, but NVIDIA's kernel driver is not loaded or finds no GPU"
	case NoPermission:
		return "this user may not use NVIDIA's devices (/dev/nvidiactl, /dev/nvidia*)"
	case VersionMismatch:
		return "NVML and NVIDIA's kernel driver are of different versions: the driver was updated " +
			"and is not reloaded yet"
	default:
		text = "NVML does not start"
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// Is reports true for [ErrNoNVML].
func (e *NoNVMLError) Is(target error) bool { return target == ErrNoNVML }
