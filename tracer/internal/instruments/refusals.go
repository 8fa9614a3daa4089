package instruments

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"ipytracer/internal/host/filecache"
	"ipytracer/internal/host/process"
)

// stateOf returns a file in its present state. ok is false where its times do not say that it is the same: a server of
// the file system sets them, or it was changed less than settled ago.
func stateOf(file *process.MappedFile, settled time.Duration) (state filecache.FileState, ok bool) {
	_, near := file.File.(*os.File)
	changed := time.Unix(file.Stat.Ctim.Unix())
	return filecache.StateOf(&file.Stat), near && time.Since(changed) >= settled
}

// refusal returns why a file was refused for a subject, nil if it was not: a file that any number of processes map is
// looked through once.
func (r *Analyses) refusal(subject string, file *process.MappedFile) error {
	if r == nil {
		return nil
	}
	return r.refused.Why(subject, filecache.StateOf(&file.Stat), time.Now())
}

// refuse remembers that a file was refused; err is nil for others.
func (r *Analyses) refuse(subject string, file *process.MappedFile, err error) {
	if r == nil || err == nil {
		return
	}
	if state, ok := stateOf(file, settledAfter); ok {
		r.refused.Add(subject, state, err, time.Now())
	}
}

// turns let files be looked through one at a time, so that what that takes of memory is taken once. Files of servers
// that may be slow have a turn of their own.
type turns struct{ near, distant sync.Mutex }

// wait waits for the turn of a file; release gives it back.
func (t *Analyses) wait(file *process.MappedFile) (release func()) {
	if t == nil {
		return func() {}
	}
	turn := &t.distant
	if _, near := file.File.(*os.File); near {
		turn = &t.near
	}
	turn.Lock()
	return turn.Unlock
}

// maxFileReading is how long the reads of one analysis may take together. A disk that is in use takes a second for the
// largest library, a server that answers slowly takes as long as it likes.
const maxFileReading = 10 * time.Second

var errSlowFile = errors.New("its file system answers too slowly")

// watchedFile notes whether a read of the file failed: such an analysis is not kept. It fails all reads once they have
// taken too long.
type watchedFile struct {
	process.File
	failed atomic.Bool
	took   atomic.Int64 // nanoseconds
}

// ReadAt implements [io.ReaderAt].
func (f *watchedFile) ReadAt(p []byte, at int64) (n int, err error) {
	if time.Duration(f.took.Load()) > maxFileReading {
		f.failed.Store(true)
		return 0, errSlowFile
	}
	began := time.Now()
	n, err = f.File.ReadAt(p, at)
	f.took.Add(int64(time.Since(began)))
	if err != nil && !errors.Is(err, io.EOF) {
		f.failed.Store(true)
	}
	return n, err
}
