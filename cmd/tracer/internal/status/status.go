// Package status turns errors that end a command into exit statuses and sentences for people. Only here do they become
// words. It also checks the arguments of commands.
package status

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"ipytracer/event/recording"
	"ipytracer/internal/gpu"
	"ipytracer/internal/host/invoker"
	"ipytracer/internal/host/limit"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/serving"
	"ipytracer/internal/words"
	"ipytracer/tracer"
)

// Explain returns the exit status of an error that ends a command, and one sentence with a hint; "" for no message.
func Explain(err error) (status int, message string) {
	var silent Silent
	var coded coded
	var nobody invoker.Error
	var refused *invoker.Refusal
	var elsewhere *elsewhereError
	var self explainer
	if errors.As(err, &elsewhere) {
		_, message = Explain(elsewhere.why)
		return Failed, fmt.Sprintf("%s; instead the output is %s", message, elsewhere.where)
	}
	if status, message, ok := explainLimit(err); ok {
		return status, message
	}
	switch {
	case errors.As(err, &self):
		return self.Explain()
	case errors.As(err, &nobody):
		return CannotTrace, err.Error()
	case errors.As(err, &refused):
		return CannotTrace, refused.Error()
	case errors.As(err, &silent):
		return int(silent), ""
	case errors.As(err, &coded):
		return coded.status, err.Error()
	case errors.Is(err, serving.ErrOld), errors.Is(err, serving.ErrFolder), errors.Is(err, serving.ErrServed):
		return CannotTrace, err.Error()
	}
	return explainTracing(err)
}

// explainTracing is [Explain] for errors about the target, the machine or a file.
func explainTracing(err error) (status int, message string) {
	var located *process.Error
	var noNVML *gpu.NoNVMLError
	var notOwn *tracer.OwnerError
	var small *limit.TooSmallError
	switch {
	case errors.As(err, &small):
		b := &small.Bound
		return CannotTrace,
			fmt.Sprintf("the memory limit on the tracer itself is too low: %s is %s, of which %s are left, "+
				"and a session takes %s at least; raise it, or start the tracer outside of it",
				b.Name, words.Bytes(b.Bytes), words.Bytes(b.Room()), words.Bytes(small.Needs))
	case errors.As(err, &notOwn):
		return CannotTrace, notOwn.Error()
	case errors.As(err, &located) && errors.Is(err, process.ErrNoAnswer):
		return CannotTrace, located.Error()
	case errors.As(err, &located) && errors.Is(err, process.ErrNoProcess):
		return WrongUsage,
			fmt.Sprintf("there is no process %d (any more); 'tracer kernels' lists what can be attached to",
				located.PID)
	case errors.Is(err, ledger.ErrNoProcess):
		return WrongUsage, fmt.Sprintf("%v: it ended while it was being attached to", err)
	case errors.As(err, &located) && errors.Is(err, process.ErrZombie):
		return WrongUsage, fmt.Sprintf("process %d has ended already", located.PID)
	case errors.As(err, &located) && errors.Is(err, process.ErrNotPython):
		return WrongUsage, notPython(located.PID)
	case errors.As(err, &located) && errors.Is(err, process.ErrNotPermitted), errors.Is(err, ledger.ErrNotPermitted):
		return CannotTrace, notPermitted(err)
	case errors.As(err, &noNVML):
		return CannotTrace, noNVML.Error() + NVMLHint(noNVML.Reason)
	case errors.Is(err, cpython.ErrUnsupported):
		return CannotTrace, fmt.Sprintf("%v; 'tracer doctor' lists the Pythons that are supported", err)
	case errors.Is(err, tracer.ErrTooMany):
		return WrongUsage, err.Error()
	case errors.Is(err, ledger.ErrFiles), errors.Is(err, syscall.EMFILE):
		return CannotTrace,
			fmt.Sprintf("%v; raise the limit first: 'ulimit -n 4096' in the shell, LimitNOFILE= of a service", err)
	case errors.Is(err, ledger.ErrNotSupported):
		return CannotTrace, fmt.Sprintf("%v; 'sudo tracer doctor' says what is missing", err)
	case errors.Is(err, recording.ErrNotRecording), errors.Is(err, recording.ErrVersion):
		return Failed, err.Error()
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return Failed, fmt.Sprintf("%v; free some room, or write elsewhere with -o or --record", err)
	case errors.Is(err, fs.ErrExist):
		return Failed, fmt.Sprintf("%v; choose another name, or --force", err)
	case errors.Is(err, syscall.EPIPE):
		return Failed, ""
	}
	return Failed, err.Error()
}

// MayTrace returns an error if this process may not load programs into the kernel. why says what would need them. It is
// for commands that do other things before they trace.
func MayTrace(why string) error {
	if (process.FS{}).Facts().Capabilities.MayLoadBPF() {
		return nil
	}
	return fmt.Errorf("%w: %s", ledger.ErrNotPermitted, why)
}

func notPermitted(err error) string {
	if os.Geteuid() != 0 {
		return "tracing needs root: it loads programs into the kernel; type " + AsRoot
	}
	return fmt.Sprintf("%v, even as root: CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE or CAP_DAC_READ_SEARCH is missing (a "+
		"container? 'sudo tracer doctor' says which), or a security module forbids it", err)
}

// NVMLHint returns advice for a machine without NVML, to be appended to the reason; "" for none.
func NVMLHint(r gpu.Reason) string {
	switch r {
	case gpu.NotBuiltIn:
		return "; install gcc and type 'make build' again"
	case gpu.LibraryAbsent:
		return "; install NVIDIA's driver, if this machine has one of its GPUs"
	case gpu.DriverNotLoaded:
		return "; type 'sudo modprobe nvidia', and 'sudo dmesg | grep NVRM' if that does not help"
	case gpu.NoPermission:
		return "; type 'sudo tracer gpu'"
	case gpu.VersionMismatch:
		return "; restart the machine"
	}
	return ""
}
