package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"ipytracer/cmd/tracer/internal/doctor"
	"ipytracer/cmd/tracer/internal/selftest"
	"ipytracer/event/recording"
	"ipytracer/internal/gpu"
	"ipytracer/internal/host/invoker"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/serving"
	"ipytracer/tracer"
)

// The exit statuses of the contract.
const (
	statusFailed      = 1
	statusUsage       = 2
	statusCannotTrace = 3
	statusBound       = 4
	statusLeak        = 5
	statusNotJudged   = 6
)

// usageError is a mistake in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// cannotTraceError is the reason why this machine or this user cannot trace; its message says what to do.
type cannotTraceError struct{ error }

func (e cannotTraceError) Unwrap() error { return e.error }

// commandStatus is the status of a traced command.
type commandStatus int

func (s commandStatus) Error() string { return fmt.Sprintf("the command ended with status %d", int(s)) }

// leakError says that more memory stays behind than `tracer audit` was to accept.
type leakError string

func (e leakError) Error() string { return string(e) }

// notJudgedError says that `tracer audit` could not judge all memory that may have to count.
type notJudgedError string

func (e notJudgedError) Error() string { return string(e) }

var (
	errDoctor      = errors.New("this machine cannot trace")
	errIncomplete  = errors.New("the report is printed, but something went wrong on the way")
	errManyKernels = errors.New("several kernels are running")
	errNoKernels   = errors.New("no running IPython or Jupyter kernel was found")
)

// explain turns an error into an exit status and one sentence with a hint. Only here do errors that end a command
// become messages for people.
func explain(err error) (status int, message string) {
	var command commandStatus
	var usage usageError
	var leak leakError
	var notJudged notJudgedError
	var bound boundError
	var nobody invoker.Error
	var refused *invoker.Refusal
	var elsewhere *elsewhereError
	var cannot cannotTraceError
	if status, message, ok := notLimited(err); ok && !errors.As(err, &elsewhere) {
		return status, message
	}
	if status, message, ok := notMoved(err); ok {
		return status, message
	}
	if status, message, ok := noTerminal(err); ok {
		return status, message
	}
	if status, message, ok := noRoom(err); ok {
		return status, message
	}
	switch {
	case errors.As(err, &elsewhere):
		_, message = explain(elsewhere.why)
		return statusFailed, fmt.Sprintf("%s; instead the output is %s", message, elsewhere.where)
	case errors.As(err, &nobody):
		return statusCannotTrace, err.Error()
	case errors.As(err, &cannot):
		return statusCannotTrace, cannot.Error()
	case errors.As(err, &refused):
		return statusCannotTrace, refused.Error()
	case errors.As(err, &command):
		return int(command), ""
	case errors.As(err, &leak):
		return statusLeak, err.Error()
	case errors.As(err, &notJudged):
		return statusNotJudged, err.Error()
	case errors.As(err, &bound), errors.Is(err, errDoubtful), errors.Is(err, errNotPassed):
		return statusBound, err.Error()
	case errors.Is(err, errNoDriver), errors.Is(err, errServeNeedsRoot), errors.Is(err, serving.ErrOld),
		errors.Is(err, serving.ErrFolder), errors.Is(err, serving.ErrServed):
		return statusCannotTrace, err.Error()
	case errors.Is(err, errDoctor):
		return statusCannotTrace, ""
	case errors.Is(err, selftest.ErrFailed), errors.Is(err, errIncomplete):
		return statusFailed, err.Error()
	case errors.As(err, &usage):
		return statusUsage, err.Error()
	case errors.Is(err, errManyKernels), errors.Is(err, errNoKernels):
		return statusUsage, err.Error()
	case errors.Is(err, errInterrupted):
		return statusFailed, "interrupted"
	}
	return explainTracing(err)
}

// explainTracing explains errors of the target, the machine or a file.
func explainTracing(err error) (status int, message string) {
	var located *process.Error
	var noNVML *gpu.NoNVMLError
	var notOwn *tracer.OwnerError
	switch {
	case errors.As(err, &notOwn):
		return statusCannotTrace, notOwn.Error()
	case errors.As(err, &located) && errors.Is(err, process.ErrNoAnswer):
		return statusCannotTrace, located.Error()
	case errors.As(err, &located) && errors.Is(err, process.ErrNoProcess):
		return statusUsage,
			fmt.Sprintf("there is no process %d (any more); 'tracer kernels' lists what can be attached to",
				located.PID)
	case errors.Is(err, ledger.ErrNoProcess):
		return statusUsage, fmt.Sprintf("%v: it ended while it was being attached to", err)
	case errors.As(err, &located) && errors.Is(err, process.ErrZombie):
		return statusUsage, fmt.Sprintf("process %d has ended already", located.PID)
	case errors.As(err, &located) && errors.Is(err, process.ErrNotPython):
		return statusUsage, notPython(located.PID)
	case errors.As(err, &located) && errors.Is(err, process.ErrNotPermitted), errors.Is(err, ledger.ErrNotPermitted):
		return statusCannotTrace, notPermitted(err)
	case errors.As(err, &noNVML):
		return statusCannotTrace, noNVML.Error() + doctor.NVMLHint(noNVML.Reason)
	case errors.Is(err, cpython.ErrUnsupported):
		return statusCannotTrace, fmt.Sprintf("%v; 'tracer doctor' lists the Pythons that are supported", err)
	case errors.Is(err, tracer.ErrTooMany):
		return statusUsage, err.Error()
	case errors.Is(err, ledger.ErrFiles), errors.Is(err, syscall.EMFILE):
		return statusCannotTrace,
			fmt.Sprintf("%v; raise the limit first: 'ulimit -n 4096' in the shell, LimitNOFILE= of a service", err)
	case errors.Is(err, ledger.ErrNotSupported):
		return statusCannotTrace, fmt.Sprintf("%v; 'sudo tracer doctor' says what is missing", err)
	case errors.Is(err, recording.ErrNotRecording), errors.Is(err, recording.ErrVersion):
		return statusFailed, err.Error()
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return statusFailed, fmt.Sprintf("%v; free some room, or write elsewhere with -o or --record", err)
	case errors.Is(err, fs.ErrExist):
		return statusFailed, fmt.Sprintf("%v; choose another name, or --force", err)
	case errors.Is(err, syscall.EPIPE):
		return statusFailed, ""
	}
	return statusFailed, err.Error()
}

// mayTrace returns an error that says why, if this process may not load programs into the kernel. It is for commands
// that do other things before they trace.
func mayTrace(why string) error {
	if (process.FS{}).Facts().Capabilities.MayLoadBPF() {
		return nil
	}
	return fmt.Errorf("%w: %s", ledger.ErrNotPermitted, why)
}

func notPermitted(err error) string {
	if os.Geteuid() != 0 {
		return "tracing needs root: it loads programs into the kernel; type " + asRoot
	}
	return fmt.Sprintf("%v, even as root: CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE or CAP_DAC_READ_SEARCH is missing (a "+
		"container? 'sudo tracer doctor' says which), or a security module forbids it", err)
}

// asRoot stands in messages for the typed command, with sudo in front.
const asRoot = "'sudo tracer …'"

// plainWord matches a word that a shell takes as it is.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// retyped replaces [asRoot] by the typed command, so that it can be copied. It leaves out long words, and words that a
// shell would change.
func retyped(message string, args []string) string {
	if typed, ok := typedAgain(args); ok {
		message = strings.Replace(message, asRoot, strings.TrimSpace("'sudo tracer "+typed)+"'", 1)
	}
	return replaced(message, args)
}

// typedAgain returns arguments as they can be typed; false if they are too long, or a shell would change them.
func typedAgain(args []string) (string, bool) {
	typed := strings.Join(args, " ")
	return typed, len(typed) <= 80 &&
		!slices.ContainsFunc(args, func(arg string) bool { return !plainWord.MatchString(arg) })
}
