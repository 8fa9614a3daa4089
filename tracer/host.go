package tracer

import (
	"io"
	"iter"
	"time"

	"ipytracer/event"
	"ipytracer/internal/code/cuda"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// host is the parts of a session that an instrument uses.
type host struct {
	fileOpener
	probePlacer
	witness
	gpuFinder
	stepper
	pricer
	crowdCount
}

// fileOpener lists and opens the files that targets map: targetFiles.
type fileOpener interface {
	openMapping(pid int, m process.Mapping) (*process.MappedFile, error)
	openFile(pid int, name string) (*process.MappedFile, error)
	mappings(pid int) iter.Seq2[process.Mapping, error]
	variables(pid int, names ...string) map[string]string
}

// probePlacer puts probes on files: placer.
type probePlacer interface {
	probeFile(t *target, file *process.MappedFile, placements []ledger.Placement) (io.Closer, error)
	hasEnded(t *target) bool
	// placeCheckpoints puts probes for every process on a library, at these places.
	placeCheckpoints(file *process.MappedFile, sites []cuda.Site) error
	// joinedLate notes a library that was used before it had probes, and the groups that may have missed something
	// meanwhile.
	joinedLate(t *target, name string, missed ...ledger.Group)
}

// witness notes which data is complete and which is missing: certificate.
type witness interface {
	// misses notes which meters of a process are short, and since when; problem notes anything else of importance;
	// noteUse notes where a group's probes are.
	misses(pid int, since event.Nanoseconds, meters []event.Meter, format string, args ...any)
	problem(format string, args ...any)
	// leavesUnnamed notes that lines are missing; the figures are complete.
	leavesUnnamed(format string, args ...any)
	noteUse(g ledger.Group, where string)
	// noteDear notes why a group's probes are at dearer places than the best ones.
	noteDear(g ledger.Group, why string)
	// countUnseen counts a Python with cells that cannot be seen.
	countUnseen()
}

// gpuFinder determines which GPUs a target uses: devices. late says that the target may have used them before.
type gpuFinder interface {
	identify(t *target, late bool)
}

// stepper knows which groups of a root are stepped down: budget.
type stepper interface {
	isShed(root uint32, g ledger.Group) bool
}

// pricer knows the cost of a probe, and receives the cost to the targets of a malloc and its free: prices.
type pricer interface {
	hit(emulated bool) time.Duration
	heapCosts(d time.Duration)
}

// crowdCount knows how many files of all targets have probes: targets.
type crowdCount interface {
	allPlaces() int
}

// targetFiles are the files and mappings of targets.
type targetFiles struct {
	*certificate
	fs process.FS
}

func (f *targetFiles) openMapping(pid int, m process.Mapping) (*process.MappedFile, error) {
	return f.fs.Image(pid).OpenMapping(m)
}

// openFile opens a file that may not exist.
func (f *targetFiles) openFile(pid int, name string) (*process.MappedFile, error) {
	file, err := f.fs.Image(pid).OpenFile(name)
	if err != nil {
		f.noteSilence(err)
	}
	return file, err
}

func (f *targetFiles) mappings(pid int) iter.Seq2[process.Mapping, error] {
	return f.fs.Image(pid).Mappings()
}

func (f *targetFiles) variables(pid int, names ...string) map[string]string {
	variables, _ := f.fs.Proc(pid).Variables(names...)
	return variables
}
