package invoker

// A [Recording] lies in a file that belongs to a user. Package recording writes its contents.

import (
	"errors"
	"fmt"
	"os"

	"ipytracer/event/recording"
)

// ErrRemoved is the error for a recording that was deleted while it was written.
var ErrRemoved = errors.New("the file was deleted meanwhile")

// RecordingOptions are those of [CreateRecording].
type RecordingOptions struct {
	Version string // of the tracer
	Force   bool   // replace a recording, or any other regular file, of that name
}

// Recording is a recording under way. Its Writer's methods write to it.
type Recording struct {
	*recording.Writer
	file *File // nil for standard output
}

// CreateRecording begins a recording, with a user's rights, in a file that only that user may read: notebooks contain
// secrets. It has no name until Keep gives it its path. "-" and "/dev/stdout" mean standard output. An existing file is
// refused with an error that is [fs.ErrExist] unless o.Force is set. A symbolic link, a device, a pipe or a directory
// is refused always, with [ErrNotRegular].
//
// With o.Force the old file is replaced, not overwritten: programs that have it open keep it, and a hard link that
// somebody laid in the way loses nothing.
func CreateRecording(rights *Rights, path string, o RecordingOptions) (*Recording, error) {
	if path == "-" || path == "/dev/stdout" {
		w, err := recording.NewWriter(os.Stdout, o.Version)
		if err != nil {
			return nil, err
		}
		return &Recording{Writer: w}, nil
	}
	f, err := rights.Create(path, o.Force)
	if err != nil {
		return nil, fmt.Errorf("create recording: %w", err)
	}
	w, err := recording.NewWriter(f, o.Version)
	if err != nil {
		f.Discard()
		return nil, fmt.Errorf("create recording: %w", err)
	}
	return &Recording{Writer: w, file: f}, nil
}

// Place is the file, nil for standard output.
func (f *Recording) Place() *File { return f.file }

// Keep gives the recording its name. Until then a failure leaves whatever was there as it was.
func (f *Recording) Keep() error {
	if f.file == nil {
		return nil
	}
	if err := f.file.Commit(); err != nil {
		return fmt.Errorf("create recording: %w", err)
	}
	return nil
}

// Discard gives up a recording that was not kept, and closes it.
func (f *Recording) Discard() {
	if f.file != nil {
		f.file.Discard()
	}
}

// Close ends the recording and closes the file, also where writing has failed before. If the file was removed
// meanwhile, the error is [ErrRemoved].
func (f *Recording) Close() error {
	err := f.Writer.Close()
	if f.file == nil {
		return err
	}
	var gone error
	if f.file.Gone() {
		gone = ErrRemoved
	}
	return errors.Join(err, gone, f.file.Close())
}
