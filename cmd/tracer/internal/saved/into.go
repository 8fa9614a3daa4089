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
	"ipytracer/cmd/tracer/internal/output"
	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/internal/report/notebook"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// intoOptions are the flags of `tracer report` that put figures into a notebook's file.
type intoOptions struct {
	Notebook string
	Outputs  bool
	Remove   bool
}

// maxWithout is the number of cells without figures that are named.
const maxWithout = 5

// check finds mistakes before any file is read.
func (i *intoOptions) check(o *output.Options, args []string) error {
	switch {
	case i.Notebook == "" && (i.Outputs || i.Remove):
		return status.Usagef("--into-output and --remove go with --into NOTEBOOK.ipynb")
	case i.Notebook == "" && len(args) == 0:
		return status.Usagef("name a recording: tracer report FILE")
	case i.Notebook == "":
		return nil
	case o.Format != "" || o.File != "":
		return status.Usagef("--into writes the notebook itself: --format and -o do not go with it")
	case i.Remove && (i.Outputs || len(args) > 0):
		return status.Usagef("--remove takes out what is there: neither a recording nor --into-output goes with it")
	case !i.Remove && len(args) == 0:
		return status.Usagef("name the recording that has the figures: tracer report FILE --into NOTEBOOK.ipynb")
	case o.NoSource:
		return status.Usagef("--into finds cells by their sources: --no-source does not go with it")
	}
	return nil
}

// runInto puts figures into a notebook, or takes them out. It replaces the notebook as a whole, or leaves it as it is.
func runInto(ctx context.Context, o output.Options, into intoOptions, c console.Console, args []string) error {
	o.File, o.Format = into.Notebook, "text"
	if output.Descriptor(o.File) != nil || o.File == "-" {
		return status.Usagef("--into takes the name of a file")
	}
	tracker := attribution.New()
	document, err := output.NewDocument(&o, c)
	if err != nil {
		return err
	}
	defer document.Close()
	if document.To.File == nil {
		return fmt.Errorf("%s is not a file that can be replaced", into.Notebook)
	}
	was, text, err := readNotebook(document, into.Notebook)
	if err != nil {
		return err
	}
	defer was.Close()
	var found notebook.Result
	var r *model.Report
	if into.Remove {
		if err := document.Seclude(); err != nil {
			return err
		}
	} else if err := replay(ctx, document, args[0], tracker.Add); err != nil {
		return err
	}
	parsed, err := notebook.Parse(text)
	if err != nil {
		return fmt.Errorf("read %s: %w", into.Notebook, err)
	}
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
		if err := replaceNotebook(document, was, found.Text, into.Notebook); err != nil {
			return err
		}
	}
	if into.Remove {
		return nil
	}
	document.SayPartial()
	return document.Judge(r)
}

// notebookFile is the state of a notebook when it was read.
type notebookFile struct {
	*os.File
	st unix.Stat_t
}

func readNotebook(document *output.Document, path string) (*notebookFile, []byte, error) {
	file, err := document.Rights.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read the notebook: %w", err)
	}
	was := &notebookFile{File: file}
	err = unix.Fstat(int(file.Fd()), &was.st)
	if err == nil && was.st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errors.New("it is no file")
	}
	if err == nil && was.st.Size > output.MaxNotebook {
		err = fmt.Errorf("it has %s, more than %s", words.Bytes(was.st.Size), words.Bytes(output.MaxNotebook))
	}
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(file, output.MaxNotebook+1))
	}
	if err == nil {
		err = document.To.File.Chmod(os.FileMode(was.st.Mode & 0o777)) // as it was
	}
	if err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("read %s: %w", path, err)
	}
	return was, text, nil
}

// replaceNotebook puts the new notebook in its place, unless it was saved meanwhile.
func replaceNotebook(document *output.Document, was *notebookFile, text []byte, path string) error {
	if _, err := document.To.Write(text); err != nil {
		return fmt.Errorf("write the notebook: %w", err)
	}
	var now unix.Stat_t
	if err := unix.Fstat(int(was.Fd()), &now); err != nil {
		return fmt.Errorf("write the notebook: %w", err)
	}
	if now.Nlink == 0 || now.Mtim != was.st.Mtim || now.Size != was.st.Size {
		return fmt.Errorf("%s was saved by somebody else meanwhile and stays as it is: type the command again", path)
	}
	if err := document.To.Commit(); err != nil {
		return fmt.Errorf("write the notebook: %w", err)
	}
	return nil
}

// sayInto reports which cells have figures, and why others have none.
func sayInto(document *output.Document, found *notebook.Result, into intoOptions) {
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
	for i, one := range found.Without {
		if i == maxWithout {
			document.Console.Say("… and %d more have none", len(found.Without)-i)
			return
		}
		document.Console.Say("cell %d has none: %s", one.Cell, one.Why)
	}
}
