package tracer

import (
	"sync"

	"ipytracer/event"
	"ipytracer/internal/host/process"
)

// libraryFile is a library of a target, loaded or expected, with probes on it. close removes all its probes and closes
// the file.
type libraryFile interface {
	id() process.FileID
	close()
}

// libraryFiles are the libraries that an instrument has met or expects: the part that instruments for libraries share.
type libraryFiles[L libraryFile] struct {
	inert
	libraries []L
}

// library returns the library in a file, or the zero value if there is none.
func (f *libraryFiles[L]) library(id process.FileID) (none L) {
	for _, l := range f.libraries {
		if l.id() == id {
			return l
		}
	}
	return none
}

func (f *libraryFiles[L]) places() int { return len(f.libraries) }

func (f *libraryFiles[L]) close() {
	var closing sync.WaitGroup
	for _, l := range f.libraries {
		closing.Go(l.close)
	}
	closing.Wait()
	f.libraries = nil
}

// openMet opens a library that a target has mapped. If that fails, it returns nil and reports the meters that miss
// something, unless the target has ended.
func openMet(h *host, t *target, l listing, m process.Mapping, meters []event.Meter) *process.MappedFile {
	file, err := h.openMapping(t.pid, m)
	if err == nil {
		return file
	}
	if !h.hasEnded(t) {
		h.misses(t.pid, l.since, meters, "pid %d: %s could not be opened: %v", t.pid, clean(m.Path), err)
	}
	return nil
}
