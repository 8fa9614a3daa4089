package tracer

import (
	"path"

	"ipytracer/tracer/code/cuda"
	"ipytracer/tracer/host/process"
)

// A target can map any number of files that are named like a library. Each that has probes takes descriptors and places
// in the kernel, so there is an end to them; what is beyond it is counted and said.
const (
	maxLibrariesOfKind = 16   // files of one kind, of one target
	maxExpectedOfKind  = 12   // as long as there are so few, one that may be loaded is taken for one that is
	maxLibraries       = 4096 // of all targets
	maxLibcs           = 8    // C libraries of a target: it has one, or musl's and glibc's
	maxArrayModules    = 16   // of NumPy
)

// crowd is the files of each kind that had no room.
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
		of = crowdOfKind{path.Base(clean(m.Path)), map[process.FileID]bool{}}
		(*c)[kind] = of
	}
	of.files[m.File] = true
}
