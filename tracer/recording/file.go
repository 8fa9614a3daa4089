package recording

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Owner is the user and group a recording is to belong to.
type Owner struct{ UID, GID int }

// FileOptions says how [Create] makes a file.
type FileOptions struct {
	Version string // of the tracer
	Force   bool   // replace a recording, or any other regular file, of that name
	Owner   *Owner // who gets the file; nil: whoever runs the tracer
	Options []Option
}

// File is a recording under way. Its Writer's methods write to it.
type File struct {
	*Writer
	closer io.Closer // nil for standard output
}

// Create begins a recording at path, which only its owner may read: notebooks contain secrets. "-" and
// "/dev/stdout" mean standard output. An existing file is refused with an error that is [fs.ErrExist] unless
// o.Force is set; a symbolic link, a device, a pipe or a directory is refused always, with [ErrNotRegular]. Where
// Create fails it leaves no file behind.
//
// With o.Force the old file is unlinked, not overwritten: whoever has it open keeps it, and a hard link
// that somebody laid in the way loses nothing.
func Create(path string, o FileOptions) (*File, error) {
	if path == "-" || path == "/dev/stdout" {
		w, err := NewWriter(os.Stdout, o.Version, o.Options...)
		if err != nil {
			return nil, err
		}
		return &File{Writer: w}, nil
	}
	f, err := createRegular(path, o)
	if err != nil {
		return nil, fmt.Errorf("create recording: %w", err)
	}
	w, err := prepare(f, o)
	if err != nil {
		return nil, fmt.Errorf("create recording: %w", err)
	}
	return &File{Writer: w, closer: f}, nil
}

func createRegular(path string, o FileOptions) (*os.File, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	case !o.Force:
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrExist}
	default:
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	// O_EXCL follows no link and takes nothing that appeared in the meantime.
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
}

// prepare gives the file to its owner before the first byte is in it. Where it fails it removes the file.
func prepare(f *os.File, o FileOptions) (w *Writer, err error) {
	if o.Owner != nil {
		err = f.Chown(o.Owner.UID, o.Owner.GID)
	}
	if err == nil {
		w, err = NewWriter(f, o.Version, o.Options...)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return w, nil
}

// Close ends the recording and closes the file, also where writing has failed before.
func (f *File) Close() error {
	err := f.Writer.Close()
	if f.closer == nil {
		return err
	}
	closeErr := f.closer.Close()
	if err != nil {
		return err
	}
	return closeErr
}
