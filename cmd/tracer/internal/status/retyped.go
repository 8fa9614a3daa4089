package status

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

// replaced replaces [asRecorded] by the typed command, with run.arrows in place of the notebooks. It leaves out what
// [Retyped] does.
func replaced(message string, args []string) string {
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
	if typed, ok := typedAgain(args); ok {
		return strings.Replace(message, asRecorded, "'tracer "+typed+"'", 1)
	}
	return message
}

// A user who has no recording of a notebook names the notebook itself. The messages say how to get from one to the
// other.

// asRecorded stands in messages for the typed command, with a recording in place of a notebook.
const asRecorded = "'tracer … run.arrows'"

// IsNotebook reports whether a file is a notebook by its name.
func IsNotebook(path string) bool { return strings.EqualFold(filepath.Ext(path), ".ipynb") }

// NotRecorded returns the error of a file that could not be read as a recording. Of a notebook it says how to get one.
func NotRecorded(path string, err error) error {
	if !IsNotebook(path) || !errors.Is(err, recording.ErrNotRecording) {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return Usagef("%s is a notebook; this needs a recording of its kernel: type 'sudo tracer attach "+
		"--record run.arrows', run the cells, press Ctrl-C, and type %s", escape.Bounded(path, 200), asRecorded)
}

// NotebookFormats are names that users give a format of notebooks.
var NotebookFormats = []string{"notebook", "ipynb", "jupyter"}

// IntoNotebook says how figures get into a notebook, where there is no such format.
const IntoNotebook = "figures go into a notebook's file with 'tracer report FILE --into NOTEBOOK.ipynb', " +
	"FILE being a recording ('sudo tracer attach --record FILE')"
