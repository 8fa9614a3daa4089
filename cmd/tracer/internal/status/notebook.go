package status

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"ipytracer/event/recording"
	"ipytracer/internal/report/escape"
)

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
