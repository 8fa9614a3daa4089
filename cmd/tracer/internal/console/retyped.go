package console

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"ipytracer/event/recording"
	"ipytracer/internal/report/escape"
)

// AsRoot stands in messages for the typed command, with sudo in front.
const AsRoot = "'sudo tracer …'"

// plainWord matches a word that needs no quotes in a shell.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// Retyped replaces [AsRoot] and [asRecorded] in a message by the command that the user has typed, so that it can be
// copied. It leaves them if the command is too long, or needs quotes in a shell.
func Retyped(message string, args []string) string {
	if typed, ok := retypable(args); ok {
		message = strings.Replace(message, AsRoot, strings.TrimSpace("'sudo tracer "+typed)+"'", 1)
	}
	return replaceNotebook(message, args)
}

// retypable joins arguments; false if they are too long, or need quotes in a shell.
func retypable(args []string) (string, bool) {
	typed := strings.Join(args, " ")
	return typed, len(typed) <= 80 &&
		!slices.ContainsFunc(args, func(arg string) bool { return !plainWord.MatchString(arg) })
}

// replaceNotebook replaces [asRecorded] by the typed command, with run.arrows in place of a notebook.
func replaceNotebook(message string, args []string) string {
	args, n := slices.Clone(args), 0
	for i, arg := range args {
		if !IsNotebook(arg) {
			continue
		}
		args[i] = "run.arrows"
		if n++; n > 1 {
			args[i] = fmt.Sprintf("run%d.arrows", n)
		}
	}
	if typed, ok := retypable(args); ok {
		return strings.Replace(message, asRecorded, "'tracer "+typed+"'", 1)
	}
	return message
}

// Users who have no recording name the notebook instead. The messages below say how to make a recording.

// asRecorded stands in messages for the typed command, with a recording in place of a notebook.
const asRecorded = "'tracer … run.arrows'"

// IsNotebook reports whether a file is a notebook by its name.
func IsNotebook(path string) bool { return strings.EqualFold(filepath.Ext(path), ".ipynb") }

// NotRecorded returns the error for a file that is no recording. For a notebook, the error says how to make a
// recording.
func NotRecorded(path string, err error) error {
	if !IsNotebook(path) || !errors.Is(err, recording.ErrNotRecording) {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return Usagef("%s is a notebook; this needs a recording of its kernel: type 'sudo tracer attach "+
		"--record run.arrows', run the cells, press Ctrl-C, and type %s", escape.Bounded(path, 200), asRecorded)
}

// NotebookFormats are formats that users ask for when they want figures in a notebook.
var NotebookFormats = []string{"notebook", "ipynb", "jupyter"}

// IntoNotebook says how to put figures into a notebook, since there is no format for it.
const IntoNotebook = "figures go into a notebook's file with 'tracer report FILE --into NOTEBOOK.ipynb', " +
	"FILE being a recording ('sudo tracer attach --record FILE')"
