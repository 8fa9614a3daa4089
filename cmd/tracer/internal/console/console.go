// Package console has the terminal that a command is typed at. It has the command's input and outputs, messages beside
// them, the terminal's width and colours, progress, and the signals that end it.
package console

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"time"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/text"
)

// drainTimeout bounds how long the program waits for a reader of standard error.
const drainTimeout = time.Second

// Console has the input and outputs of a command, and the signals to it.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
	Signals  *Signals
	Version  string // of this program
}

// Say prints a line for the user on standard error.
func (c Console) Say(format string, values ...any) {
	fmt.Fprintf(c.Err, "tracer: "+format+"\n", values...)
}

// Hold keeps the lines written to standard error in the queue, and passes each to tell, until it is called with nil. It
// does nothing if standard error has no queue.
func (c Console) Hold(tell func(string)) {
	if m, ok := c.Err.(*messages); ok {
		m.hold(tell)
	}
}

// Drain waits until the lines written to standard error are printed, and returns the file that they were printed to.
func (c Console) Drain() io.Writer {
	if m, ok := c.Err.(*messages); ok {
		m.Drain(drainTimeout)
		return m.to
	}
	return c.Err
}

// Logger returns a log on standard error: of warnings, or of everything.
func (c Console) Logger(verbose bool) *slog.Logger {
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(c.Err, &slog.HandlerOptions{Level: level}))
}

// Screen returns the room for documents on an output.
func Screen(w io.Writer) doc.Size { return TextOptions(w).Size() }

// TextOptions returns the width and the colours of text on an output.
func TextOptions(w io.Writer) text.Options { return text.Options{Color: Colored(w), Width: Width(w)} }

// PrintJSON writes a short value as JSON for people and programs.
func PrintJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
