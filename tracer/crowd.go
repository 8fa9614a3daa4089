package tracer

import (
	"path"

	"ipytracer/event"
	"ipytracer/tracer/cuda"
	"ipytracer/tracer/process"
)

// A target can map any number of files that are named like a library. Each that has probes takes descriptors and places in the kernel, so
// there is an end to them; what is beyond it is counted and said.
const (
	maxLibrariesOfKind = 16   // files of one kind, of one target
	maxExpectedOfKind  = 12   // as long as there are so few, one that may be loaded is taken for one that is
	maxLibraries       = 4096 // of all targets
	maxLibcs           = 8    // C libraries of a target: it has one, or musl's and glibc's
	maxArrayModules    = 16   // of NumPy
)

// hasRoom says whether a target may have one more library of a kind.
func (s *Session) hasRoom(t *target, kind cuda.Kind, most int) bool {
	ofKind, all := 0, 0
	for _, l := range t.libraries {
		if l.kind == kind {
			ofKind++
		}
	}
	for _, other := range s.targets {
		all += len(other.libraries)
	}
	return ofKind < most && all < maxLibraries
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
func (s *Session) sayCrowd(t *target, since event.Nanoseconds, beyond crowd) {
	for _, kind := range []cuda.Kind{cuda.Driver, cuda.Torch, cuda.Loader, cuda.Runtime} {
		of, crowded := beyond[kind]
		if !crowded || t.crowded[kind] {
			continue
		}
		t.crowded[kind] = true
		s.misses(t.pid, since, metersThrough(kind), "pid %d: it maps more files that are named like %s than are looked at: %d of them are not, and what is taken through them is not seen",
			t.pid, of.name, len(of.files))
	}
}
