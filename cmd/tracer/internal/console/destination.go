package console

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/privileges"
	"ipytracer/internal/report/formats"
)

// Destination is the place of a document: standard output, a device, a pipe, or a file that appears only when it is
// complete.
type Destination struct {
	io.Writer
	File          *privileges.File // without a name until it is complete; nil for any other place
	special       *os.File         // a device or a named pipe
	Path          string           // "" for standard output
	partlyWritten bool             // a part was written
}

// open opens the destination with the invoker's rights, so that an error is found at once.
func (o *Options) open(rights *privileges.Rights, stdout io.Writer) (*Destination, error) {
	if o.File == "" || o.File == "-" {
		return &Destination{Writer: stdout}, o.forTerminal(stdout)
	}
	if f := Descriptor(o.File); f != nil {
		if err := o.forTerminal(f); err != nil {
			return nil, err
		}
		return &Destination{Writer: f, Path: o.File}, nil
	}
	special, err := rights.Special(o.File)
	if err != nil {
		return nil, fmt.Errorf("write the report: %w", err)
	}
	if special != nil {
		return &Destination{Writer: special, special: special, Path: o.File}, nil
	}
	f, err := rights.Create(o.File, true)
	if err != nil {
		return nil, fmt.Errorf("write the report: %w", err)
	}
	return &Destination{Writer: f, File: f, Path: o.File}, nil
}

// forTerminal returns an error if the format is binary and to is a terminal.
func (o *Options) forTerminal(to io.Writer) error {
	f := formats.Of(o.Format)
	if f == nil || !f.Binary {
		return nil
	}
	if _, isTerminal := Terminal(to); !isTerminal {
		return nil
	}
	return Usagef("--format %s is not for terminals: name a file, such as -o report%s, "+
		"or hand it to a program by a pipe", f.Name, f.Ending)
}

// Descriptor returns the open file that a path such as /dev/stdout names, nil for other paths. Above standard error it
// accepts only pipes, which a shell passes for >(command).
func Descriptor(path string) *os.File {
	switch path {
	case "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
		return os.Stdout
	case "/dev/stderr", "/dev/fd/2", "/proc/self/fd/2":
		return os.Stderr
	}
	number, ok := strings.CutPrefix(path, "/dev/fd/")
	if fd, err := strconv.Atoi(number); ok && err == nil && fd > 2 {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO {
			return os.NewFile(uintptr(fd), path)
		}
	}
	return nil
}

// Override reports whether moving the files to their places takes capabilities, as for root in folders of other users.
func Override(files ...*privileges.File) bool {
	return slices.ContainsFunc(files, func(f *privileges.File) bool { return f != nil && f.NeedsOverride() })
}

// Commit puts the file in its place.
func (d *Destination) Commit() error {
	if d.special != nil {
		f := d.special
		d.special = nil
		return f.Close()
	}
	if d.File == nil {
		return nil
	}
	err := d.File.Sync()
	if err == nil {
		err = d.File.Commit()
	}
	if err = errors.Join(err, d.File.Close()); err != nil {
		return err
	}
	d.File = nil
	return nil
}

// Discard removes a file that was not committed.
func (d *Destination) Discard() {
	if d.special != nil {
		d.special.Close()
	}
	if d.File != nil {
		d.File.Discard()
	}
}

// deliver prints a document, and puts it in its place.
func (d *Destination) deliver(print func(io.Writer) error) error {
	if err := print(d); err != nil {
		return err
	}
	return d.Commit()
}

// Write writes, and notes that a reader may have received a part of the document.
func (d *Destination) Write(p []byte) (int, error) {
	n, err := d.Writer.Write(p)
	d.partlyWritten = d.partlyWritten || n > 0
	return n, err
}

// Behind returns the underlying writer, for [Terminal].
func (d *Destination) Behind() io.Writer { return d.Writer }
