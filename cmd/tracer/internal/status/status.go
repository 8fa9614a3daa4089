// Package status turns errors that end a command into exit statuses and sentences for people: only here do they become
// words. It also checks the arguments of commands.
package status

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
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

// The exit statuses of the contract.
const (
	Failed      = 1
	WrongUsage  = 2
	CannotTrace = 3
	NotExact    = 4
	OverLimit   = 5
	NotJudged   = 6
)

// coded is an error with the exit status of the command that it ends.
type coded struct {
	error
	status int
}

func (e coded) Unwrap() error { return e.error }

// New returns an error with an exit status.
func New(status int, err error) error { return coded{err, status} }

// Errorf formats an error with an exit status, as [fmt.Errorf] does.
func Errorf(status int, format string, values ...any) error {
	return coded{fmt.Errorf(format, values...), status}
}

// Usage returns an error that is a mistake in the command line.
func Usage(err error) error { return coded{err, WrongUsage} }

// Usagef formats an error that is a mistake in the command line, as [fmt.Errorf] does.
func Usagef(format string, values ...any) error {
	return coded{fmt.Errorf(format, values...), WrongUsage}
}

// Silent ends the program with a status and without a word: a traced command's own, or one whose reason has been
// printed.
type Silent int

func (s Silent) Error() string { return fmt.Sprintf("the status is %d", int(s)) }

// explained is an error that turns itself into an exit status and a sentence.
type explained interface {
	error
	Explain() (status int, message string)
}

// elsewhereError says that a report is at another place than requested, and names that place.
type elsewhereError struct {
	why   error
	where string
}

// Elsewhere returns the error of a report that is at another place than requested.
func Elsewhere(why error, where string) error { return &elsewhereError{why, where} }

func (e *elsewhereError) Error() string { return e.why.Error() }

func (e *elsewhereError) Unwrap() error { return e.why }

// Explain turns an error into an exit status and one sentence with a hint. Only here do errors that end a command
// become messages for people.
func Explain(err error) (status int, message string) {
	var silent Silent
	var coded coded
	var nobody invoker.Error
	var refused *invoker.Refusal
	var moved *elsewhereError
	var own explained
	if errors.As(err, &moved) {
		_, message = Explain(moved.why)
		return Failed, fmt.Sprintf("%s; instead the output is %s", message, moved.where)
	}
	if status, message, ok := notLimited(err); ok {
		return status, message
	}
	switch {
	case errors.As(err, &own):
		return own.Explain()
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

// explainTracing explains errors of the target, the machine or a file.
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
		return CannotTrace, noNVML.Error() + nvmlHint(noNVML.Reason)
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

// MayTrace returns an error that says why, if this process may not load programs into the kernel. It is for commands
// that do other things before they trace.
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

// AsRoot stands in messages for the typed command, with sudo in front.
const AsRoot = "'sudo tracer …'"

// plainWord matches a word that a shell takes as it is.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// Retyped replaces [AsRoot] by the typed command, so that it can be copied. It leaves out long words, and words that a
// shell would change.
func Retyped(message string, args []string) string {
	if typed, ok := typedAgain(args); ok {
		message = strings.Replace(message, AsRoot, strings.TrimSpace("'sudo tracer "+typed)+"'", 1)
	}
	return replaced(message, args)
}

// typedAgain returns arguments as they can be typed; false if they are too long, or a shell would change them.
func typedAgain(args []string) (string, bool) {
	typed := strings.Join(args, " ")
	return typed, len(typed) <= 80 &&
		!slices.ContainsFunc(args, func(arg string) bool { return !plainWord.MatchString(arg) })
}

// nvmlHint returns advice for a machine without NVML, to follow the sentence with the reason; "" without advice.
func nvmlHint(r gpu.Reason) string {
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
