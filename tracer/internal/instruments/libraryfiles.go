package instruments

import (
	"path"
	"sync"

	"ipytracer/event"
	"ipytracer/internal/code/cuda"
	"ipytracer/internal/host/process"
	"ipytracer/tracer/internal/tracee"
)

// libraryFile is a library of a target, loaded or expected, with probes on it. close removes all its probes and closes
// the file.
type libraryFile interface {
	id() process.FileID
	close()
}

// libraryFiles are the libraries that an instrument has met or expects: the part that instruments for libraries share.
type libraryFiles[L libraryFile] struct {
	tracee.Inert
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

func (f *libraryFiles[L]) Places() int { return len(f.libraries) }

func (f *libraryFiles[L]) Close() {
	var closing sync.WaitGroup
	for _, l := range f.libraries {
		closing.Go(l.close)
	}
	closing.Wait()
	f.libraries = nil
}

// openMet opens a library that a target has mapped. If that fails, it returns nil and reports the meters that miss
// something, unless the target has ended.
func openMet(h *Host, t *tracee.Target, l tracee.Listing, m process.Mapping, meters []event.Meter) *process.MappedFile {
	file, err := h.OpenMapping(t.PID, m)
	if err == nil {
		return file
	}
	if !h.HasEnded(t) {
		h.Misses(t.PID, l.Since, meters, "pid %d: %s could not be opened: %v", t.PID, tracee.Clean(m.Path), err)
	}
	return nil
}

// A target can map any number of files with names like a library's. Each file with probes takes descriptors and places
// in the kernel, so their number is limited; files beyond the limit are counted and reported.
const (
	MaxLibrariesOfKind = 16   // files of one kind, of one target
	maxExpectedOfKind  = 12   // up to this number, a library that may be loaded has probes as if it were loaded
	MaxLibraries       = 4096 // of all targets
	MaxLibcs           = 8    // C libraries of a target: it has one, or musl's and glibc's
	maxArrayModules    = 16   // of NumPy
)

// crowd has the files for which there was no room, by kind.
type crowd map[cuda.Kind]crowdOfKind

type crowdOfKind struct {
	name  string // of one of the files
	files map[process.FileID]bool
}

func (c *crowd) add(kind cuda.Kind, m process.Mapping) {
	if *c == nil {
		*c = crowd{}
	}
	full := (*c)[kind]
	if full.files == nil {
		full = crowdOfKind{path.Base(tracee.Clean(m.Path)), map[process.FileID]bool{}}
		(*c)[kind] = full
	}
	full.files[m.File] = true
}
