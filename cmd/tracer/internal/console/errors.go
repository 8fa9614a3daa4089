package console

import "fmt"

// Exit statuses, as 'tracer --help' lists them.
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

// WithStatus returns an error with an exit status.
func WithStatus(status int, err error) error { return coded{err, status} }

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

// Silent ends the program with an exit status and without a message: with the status of the traced command, or when the
// reason has been printed.
type Silent int

func (s Silent) Error() string { return fmt.Sprintf("the status is %d", int(s)) }

// explainer is an error that knows its exit status and its message.
type explainer interface {
	error
	Explain() (status int, message string)
}

// elsewhereError says that a report could not be written to the requested place, and is at another one.
type elsewhereError struct {
	why   error
	where string // such as "in FILE"
}

// Elsewhere returns the error of a report that is not at the requested place because of why, but where says.
func Elsewhere(why error, where string) error { return &elsewhereError{why, where} }

func (e *elsewhereError) Error() string { return e.why.Error() }

func (e *elsewhereError) Unwrap() error { return e.why }
