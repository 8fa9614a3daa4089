package tracer

import (
	"path"

	"ipytracer/event"
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

// hasRoom says whether a target may have one more library of a kind.
func (i *libraryInstrument) hasRoom(kind cuda.Kind, most int) bool {
	ofKind := 0
	for _, l := range i.libraries {
		if l.kind == kind {
			ofKind++
		}
	}
	return ofKind < most && i.allPlaces() < maxLibraries
}

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

// sayCrowd says, once of each kind, what is not seen for lack of room.
func (i *libraryInstrument) sayCrowd(since event.Nanoseconds) {
	for _, kind := range []cuda.Kind{cuda.Driver, cuda.Torch, cuda.Loader, cuda.Runtime} {
		of, crowded := i.beyond[kind]
		if !crowded || i.crowded[kind] {
			continue
		}
		i.crowded[kind] = true
		i.misses(i.target.pid, since, metersThrough(kind),
			"pid %d: it maps more files that are named like %s than are looked at: %d of them are not, and what is taken through them is not seen",
			i.target.pid, of.name, len(of.files))
	}
}
