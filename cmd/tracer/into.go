package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"ipytracer/attribution"
	"ipytracer/internal/report/notebook"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// IntoOptions are the flags of `tracer report` that put figures into a notebook's file.
type IntoOptions struct {
	Notebook string
	Outputs  bool
	Remove   bool
}

// maxNotebook is the largest size of a notebook, in bytes.
const maxNotebook = 1 << 30

// maxWithout is the number of cells without figures that are named.
const maxWithout = 5

// check finds mistakes before any file is read.
func (i *IntoOptions) check(o *OutputOptions, args []string) error {
	switch {
	case i.Notebook == "" && (i.Outputs || i.Remove):
		return usageError{errors.New("--into-output and --remove go with --into NOTEBOOK.ipynb")}
	case i.Notebook == "" && len(args) == 0:
		return usageError{errors.New("name a recording: tracer report FILE")}
	case i.Notebook == "":
		return nil
	case o.Format != "" || o.File != "":
		return usageError{errors.New("--into writes the notebook itself: --format and -o do not go with it")}
	case i.Remove && (i.Outputs || len(args) > 0):
		return usageError{
			errors.New("--remove takes out what is there: neither a recording nor --into-output goes with it"),
		}
	case !i.Remove && len(args) == 0:
		return usageError{
			errors.New("name the recording that has the figures: tracer report FILE --into NOTEBOOK.ipynb"),
		}
	case o.NoSource:
		return usageError{errors.New("--into finds cells by their sources: --no-source does not go with it")}
	}
	return nil
}

// runInto puts figures into a notebook, or takes them out. It replaces the notebook as a whole, or leaves it as it is.
func runInto(ctx context.Context, o OutputOptions, into IntoOptions, c console, args []string) error {
	o.File, o.Format = into.Notebook, "text"
	if descriptor(o.File) != nil || o.File == "-" {
		return usageError{errors.New("--into takes the name of a file")}
	}
	tracker := attribution.New()
	s, err := newSession(&SessionOptions{OutputOptions: o}, c, tracker)
	if err != nil {
		return err
	}
	defer s.close()
	if s.to.file == nil {
		return fmt.Errorf("%s is not a file that can be replaced", into.Notebook)
	}
	was, text, err := s.readNotebook(into.Notebook)
	if err != nil {
		return err
	}
	defer was.Close()
	var found notebook.Result
	var r *model.Report
	if into.Remove {
		if err := s.seclude(); err != nil {
			return fmt.Errorf("give up what is not needed: %w", err)
		}
	} else if err := s.replay(ctx, args[0]); err != nil {
		return err
	}
	n, err := notebook.Parse(text)
	if err != nil {
		return fmt.Errorf("read %s: %w", into.Notebook, err)
	}
	if into.Remove {
		found = n.Remove()
	} else {
		r = tracker.Stream()
		found = n.Into(r, into.Outputs)
	}
	s.sayInto(&found, into)
	if !into.Remove && found.Written == 0 {
		return fmt.Errorf("%s stays as it is: none of its cells ran in this recording with the source that it has now",
			into.Notebook)
	}
	if string(found.Text) != string(text) {
		if err := s.replaceNotebook(was, found.Text, into.Notebook); err != nil {
			return err
		}
	}
	if into.Remove {
		return nil
	}
	sayPartial(s)
	return judged(s, r)
}

// notebookFile is the state of a notebook when it was read.
type notebookFile struct {
	*os.File
	st unix.Stat_t
}

func (s *session) readNotebook(path string) (*notebookFile, []byte, error) {
	f, err := s.rights.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read the notebook: %w", err)
	}
	was := &notebookFile{File: f}
	err = unix.Fstat(int(f.Fd()), &was.st)
	if err == nil && was.st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errors.New("it is no file")
	}
	if err == nil && was.st.Size > maxNotebook {
		err = fmt.Errorf("it has %s, more than %s", words.Bytes(was.st.Size), words.Bytes(maxNotebook))
	}
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(f, maxNotebook+1))
	}
	if err == nil {
		err = s.to.file.Chmod(os.FileMode(was.st.Mode & 0o777)) // as it was
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("read %s: %w", path, err)
	}
	return was, text, nil
}

// replaceNotebook puts the new notebook in its place, unless it was saved meanwhile.
func (s *session) replaceNotebook(was *notebookFile, text []byte, path string) error {
	if _, err := s.to.Write(text); err != nil {
		return fmt.Errorf("write the notebook: %w", err)
	}
	var now unix.Stat_t
	if err := unix.Fstat(int(was.Fd()), &now); err != nil {
		return fmt.Errorf("write the notebook: %w", err)
	}
	if now.Nlink == 0 || now.Mtim != was.st.Mtim || now.Size != was.st.Size {
		return fmt.Errorf("%s was saved by somebody else meanwhile and stays as it is: type the command again", path)
	}
	if err := s.to.commit(); err != nil {
		return fmt.Errorf("write the notebook: %w", err)
	}
	return nil
}

// sayInto reports which cells have figures, and why others have none.
func (s *session) sayInto(found *notebook.Result, into IntoOptions) {
	if s.options.Quiet {
		return
	}
	if into.Remove {
		fmt.Fprintf(s.console.err, "tracer: figures of %s taken out of %s\n",
			words.Plural(found.Removed, "cell"), into.Notebook)
		return
	}
	fmt.Fprintf(s.console.err, "tracer: %d of %s with code have figures\n",
		found.Written, words.Plural(found.Cells, "cell"))
	for i, one := range found.Without {
		if i == maxWithout {
			fmt.Fprintf(s.console.err, "tracer: … and %d more have none\n", len(found.Without)-i)
			return
		}
		fmt.Fprintf(s.console.err, "tracer: cell %d has none: %s\n", one.Cell, one.Why)
	}
}

// reportOrInto prints a report or puts it into a notebook.
func reportOrInto(ctx context.Context, o OutputOptions, into IntoOptions, c console, args []string) error {
	if err := into.check(&o, args); err != nil {
		return err
	}
	if into.Notebook != "" {
		return runInto(ctx, o, into, c, args)
	}
	return runReport(ctx, o, c, args[0])
}
