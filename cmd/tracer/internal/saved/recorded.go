package saved

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/cmd/tracer/internal/session"
	"ipytracer/event"
	"ipytracer/event/recording"
	"ipytracer/model"
)

// All commands that show a recording's figures read it here. The last event says how far the recording goes. From that,
// package attribution knows which figures are exact. A sentence on standard error says it, too, because some formats
// cannot.

// readRecording passes the events of a recording to take, and returns how far the recording goes.
func readRecording(ctx context.Context, in io.Reader, take func(event.Event)) (recording.Extent, error) {
	source, err := recording.Open(in)
	if err != nil {
		return recording.Extent{}, err
	}
	err = source.Each(ctx, take)
	return source.Extent(), err
}

// readFor passes the events of a recording to take. It notes in the document that a recording is not whole.
func readFor(ctx context.Context, document *console.Document, in io.Reader, path string, take func(event.Event)) error {
	extent, err := readRecording(ctx, in, func(e event.Event) {
		take(e)
		document.Garbage.Pace()
	})
	if err != nil {
		return console.NotRecorded(path, err)
	}
	if !extent.IsWhole() {
		document.NotWhole(path, extent)
	}
	return nil
}

// replay opens a recording, gives up rights, and passes all events to take.
func replay(ctx context.Context, document *console.Document, path string, take func(event.Event)) error {
	files, err := openEach(document, []string{path})
	defer closeEach(files)
	if err != nil {
		return err
	}
	progress := console.StartProgress(document.Console.Err, document.Options.Quiet, "reading")
	defer progress.Stop()
	return readFor(ctx, document, files[0], path, take)
}

// readEach opens all recordings, gives up rights, and passes the report of each to take. It has only one report in
// memory at a time.
func readEach(
	ctx context.Context, document *console.Document, paths []string, take func(name string, r *model.Report),
) error {
	files, err := openEach(document, paths)
	defer closeEach(files)
	if err != nil {
		return err
	}
	progress := console.StartProgress(document.Console.Err, document.Options.Quiet, "reading")
	defer progress.Stop()
	for i, f := range files {
		tracker := attribution.New()
		if err := readFor(ctx, document, f, paths[i], tracker.Add); err != nil {
			return err
		}
		take(paths[i], tracker.Stream())
		if i+1 < len(files) {
			debug.FreeOSMemory()
		}
	}
	return nil
}

// openEach opens recordings, and gives up the rights that reading them does not need. Also after an error, the caller
// must close the returned files.
func openEach(document *console.Document, paths []string) (files []*os.File, err error) {
	for _, path := range paths {
		file, err := document.Rights.Open(path)
		if err != nil {
			return files, fmt.Errorf("read the recording: %w", err)
		}
		files = append(files, file)
	}
	return files, document.Seclude()
}

func closeEach(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// replayOrWatch reads a recording. But if the target is a process ID, and no file has that name, it follows the process
// until the user or the duration ends that.
func replayOrWatch(ctx context.Context, s *session.Session, target, does string) error {
	if _, err := strconv.Atoi(target); err != nil || s.Rights.Exists(target) {
		return replay(ctx, s.Document, target, s.Tracker.Add)
	}
	options, err := s.Options.TracerOptions(s.Console)
	if err != nil {
		return err
	}
	options.Holders = true
	pids, err := console.ParsePIDs([]string{target})
	if err != nil {
		return err
	}
	return s.Trace(ctx, inventory.Named(pids), options, does)
}
