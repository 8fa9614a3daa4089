package privileges

// A [Recording] is a file that belongs to a user. Package recording writes its contents.

import (
	"errors"
	"fmt"
	"os"

	"ipytracer/event/recording"
)

// ErrRemoved is the error for a recording that was deleted while it was written.
var ErrRemoved = errors.New("the file was deleted meanwhile")

// RecordingOptions are the options of [CreateRecording].
type RecordingOptions struct {
	Version string // of the tracer
	Force   bool   // replace an existing regular file
}

// Recording is a recording that is being written, by the methods of its Writer.
type Recording struct {
	*recording.Writer
	file *File // nil for standard output
}

// CreateRecording begins a recording with a user's rights. Only that user may read the file, because notebooks contain
// secrets. The file has no name until Keep gives it its path. The paths "-" and "/dev/stdout" mean standard output. If
// a file exists at the path, CreateRecording fails with [fs.ErrExist], unless o.Force is set. If a symbolic link, a
// device, a pipe or a directory is there, it always fails with [ErrNotRegular].
//
// With o.Force the old file is replaced, not overwritten. So programs that have it open keep its contents, and so do
// hard links to it.
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

// Place returns the file, or nil for standard output.
func (f *Recording) Place() *File { return f.file }

// Keep gives the recording its path. Before that, and if it fails, a file at that path stays as it is.
func (f *Recording) Keep() error {
	if f.file == nil {
		return nil
	}
	if err := f.file.Commit(); err != nil {
		return fmt.Errorf("create recording: %w", err)
	}
	return nil
}

// Discard closes a recording, and removes it if Keep was not called.
func (f *Recording) Discard() {
	if f.file != nil {
		f.file.Discard()
	}
}

// Close ends the recording and closes the file, even if writing has failed before. If the file was removed meanwhile,
// the error matches [ErrRemoved].
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
