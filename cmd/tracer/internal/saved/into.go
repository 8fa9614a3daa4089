package saved

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/report/export"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// intoOptions are the flags of `tracer report` that put figures into a notebook's file.
type intoOptions struct {
	Notebook string
	Outputs  bool
	Remove   bool
}

// maxWithout is the most cells without figures that are named.
const maxWithout = 5

// check finds mistakes before any file is read.
func (i *intoOptions) check(o *console.Options, args []string) error {
	switch {
	case i.Notebook == "" && (i.Outputs || i.Remove):
		return console.Usagef("--into-output and --remove go with --into NOTEBOOK.ipynb")
	case i.Notebook == "" && len(args) == 0:
		return console.Usagef("name a recording: tracer report FILE")
	case i.Notebook == "":
		return nil
	case o.Format != "" || o.File != "":
		return console.Usagef("--into writes the notebook itself: --format and -o do not go with it")
	case i.Remove && (i.Outputs || len(args) > 0):
		return console.Usagef("--remove takes out what is there: neither a recording nor --into-output goes with it")
	case !i.Remove && len(args) == 0:
		return console.Usagef("name the recording that has the figures: tracer report FILE --into NOTEBOOK.ipynb")
	case o.NoSource:
		return console.Usagef("--into finds cells by their sources: --no-source does not go with it")
	}
	return nil
}

// runInto puts figures into a notebook, or takes them out. It replaces the whole notebook, or leaves it unchanged.
func runInto(ctx context.Context, o console.Options, into intoOptions, c console.Console, args []string) error {
	o.File, o.Format = into.Notebook, "text"
	if console.Descriptor(o.File) != nil || o.File == "-" {
		return console.Usagef("--into takes the name of a file")
	}
	document, err := console.NewDocument(&o, c)
	if err != nil {
		return err
	}
	defer document.Close()
	if document.To.File == nil {
		return fmt.Errorf("%s is not a file that can be replaced", into.Notebook)
	}
	original, text, err := readNotebook(document, into.Notebook)
	if err != nil {
		return err
	}
	defer original.Close()
	tracker := attribution.New()
	if into.Remove {
		err = document.Seclude()
	} else {
		err = replay(ctx, document, args[0], tracker.Add)
	}
	if err != nil {
		return err
	}
	parsed, err := export.ParseNotebook(text)
	if err != nil {
		return fmt.Errorf("read %s: %w", into.Notebook, err)
	}
	var found export.CellResult
	var r *model.Report
	if into.Remove {
		found = parsed.Remove()
	} else {
		r = tracker.Stream()
		found = parsed.Into(r, into.Outputs)
	}
	sayInto(document, &found, into)
	if !into.Remove && found.Written == 0 {
		return fmt.Errorf("%s stays as it is: none of its cells ran in this recording with the source that it has now",
			into.Notebook)
	}
	if string(found.Text) != string(text) {
		if err := replaceNotebook(document, original, found.Text, into.Notebook); err != nil {
			return err
		}
	}
	if into.Remove {
		return nil
	}
	document.SayPartial()
	return document.Judge(r)
}

// notebookFile is the file of a notebook, and its state when it was read.
type notebookFile struct {
	*os.File
	st unix.Stat_t
}

func readNotebook(document *console.Document, path string) (*notebookFile, []byte, error) {
	file, err := document.Rights.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read the notebook: %w", err)
	}
	original := &notebookFile{File: file}
	err = unix.Fstat(int(file.Fd()), &original.st)
	if err == nil && original.st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errors.New("it is not a regular file")
	}
	if err == nil && original.st.Size > console.MaxNotebook {
		err = fmt.Errorf("it has %s, more than %s", words.Bytes(original.st.Size), words.Bytes(console.MaxNotebook))
	}
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(file, console.MaxNotebook+1))
	}
	if err == nil {
		err = document.To.File.Chmod(os.FileMode(original.st.Mode & 0o777)) // the new file gets the same mode
	}
	if err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("read %s: %w", path, err)
	}
	return original, text, nil
}

// replaceNotebook replaces the notebook by the new text. It fails if somebody has saved the notebook since it was read.
func replaceNotebook(document *console.Document, original *notebookFile, text []byte, path string) error {
	if _, err := document.To.Write(text); err != nil {
		return fmt.Errorf("write the notebook: %w", err)
	}
	var now unix.Stat_t
	if err := unix.Fstat(int(original.Fd()), &now); err != nil {
		return fmt.Errorf("write the notebook: %w", err)
	}
	if now.Nlink == 0 || now.Mtim != original.st.Mtim || now.Size != original.st.Size {
		return fmt.Errorf("%s was saved by somebody else meanwhile and stays as it is: type the command again", path)
	}
	if err := document.To.Commit(); err != nil {
		return fmt.Errorf("write the notebook: %w", err)
	}
	return nil
}

// sayInto reports how many cells got figures, and why others got none.
func sayInto(document *console.Document, found *export.CellResult, into intoOptions) {
	if document.Options.Quiet {
		return
	}
	if into.Remove {
		document.Console.Say("figures of %s taken out of %s",
			words.Plural(found.Removed, "cell"), into.Notebook)
		return
	}
	document.Console.Say("%d of %s with code have figures",
		found.Written, words.Plural(found.Cells, "cell"))
	for i, cell := range found.Without {
		if i == maxWithout {
			document.Console.Say("… and %d more have none", len(found.Without)-i)
			return
		}
		document.Console.Say("cell %d has none: %s", cell.Cell, cell.Why)
	}
}
