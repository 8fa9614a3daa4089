package instruments

import (
	"path"

	"ipytracer/internal/code/cuda"
	"ipytracer/internal/host/process"
	"ipytracer/tracer/internal/tracee"
)

// A target can map any number of files with names like a library's. Each file with probes takes descriptors and places
// in the kernel, so their number is limited; files beyond the limit are counted and reported.
const (
	MaxLibrariesOfKind = 16   // files of one kind, of one target
	maxExpectedOfKind  = 12   // up to this number, a library that may be loaded has probes as if it were loaded
	MaxLibraries       = 4096 // of all targets
	MaxLibcs           = 8    // C libraries of a target: it has one, or musl's and glibc's
	maxArrayModules    = 16   // of NumPy
)

// crowd holds the files of each kind for which there was no room.
type crowd map[cuda.Kind]crowdOfKind

type crowdOfKind struct {
	name  string // of one of them
	files map[process.FileID]bool
}

func (c *crowd) add(kind cuda.Kind, m process.Mapping) {
	if *c == nil {
		*c = crowd{}
	}
	of := (*c)[kind]
	if of.files == nil {
		of = crowdOfKind{path.Base(tracee.Clean(m.Path)), map[process.FileID]bool{}}
		(*c)[kind] = of
	}
	of.files[m.File] = true
}
