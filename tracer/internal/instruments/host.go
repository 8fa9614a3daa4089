// Package instruments places probes in targets. Each kind of probe has an instrument: for NumPy's blocks, for the
// interpreter, for mmap and malloc, for GPU libraries and tensors, for Arrow's pools. An instrument finds its files,
// has them analysed ([Analyses], once for all targets and kept for later sessions), and puts probes in through its
// [Host].
package instruments

import (
	"io"
	"iter"
	"time"

	"ipytracer/event"
	"ipytracer/internal/code/cuda"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/running"
	"ipytracer/tracer/internal/tracee"
)

// Host is the parts of a session that an instrument uses.
type Host struct {
	FileOpener
	ProbePlacer
	Witness
	GPUFinder
	Pauses
	Pricer
	CrowdCount
}

// FileOpener lists and opens the files that targets map; [TargetFiles] implements it.
type FileOpener interface {
	OpenMapping(pid int, m process.Mapping) (*process.MappedFile, error)
	OpenFile(pid int, name string) (*process.MappedFile, error)
	Mappings(pid int) iter.Seq2[process.Mapping, error]
	Variables(pid int, names ...string) map[string]string
}

// ProbePlacer puts probes on files; [Placer] implements it.
type ProbePlacer interface {
	ProbeFile(t *tracee.Target, file *process.MappedFile, placements []ledger.Placement) (io.Closer, error)
	HasEnded(t *tracee.Target) bool
	// PlaceCheckpoints puts probes for every process on a library, at these places.
	PlaceCheckpoints(file *process.MappedFile, sites []cuda.Site) error
	// JoinedLate notes a library that was used before it had probes, and the groups that may have missed something
	// meanwhile.
	JoinedLate(t *tracee.Target, name string, missed ...ledger.Group)
}

// Witness notes which data is complete and which is missing; [tracee.Certificate] implements it.
type Witness interface {
	// Misses notes which meters of a process are short, and since when; problem notes anything else of importance;
	// noteUse notes where a group's probes are.
	Misses(pid int, since event.Nanoseconds, meters []event.Meter, format string, args ...any)
	Problem(format string, args ...any)
	// LeavesUnnamed notes that lines are missing; the figures are complete.
	LeavesUnnamed(format string, args ...any)
	NoteUse(g ledger.Group, where string)
	// NoteDear notes why a group's probes are at dearer places than the best ones.
	NoteDear(g ledger.Group, why string)
	// CountUnseen counts a Python with cells that cannot be seen.
	CountUnseen()
}

// GPUFinder determines which GPUs a target uses; [tracee.Devices] does. late: the target may have used them
// before.
type GPUFinder interface {
	Identify(t *tracee.Target, late bool)
}

// Pauses knows which groups of a root are paused; package budget implements it.
type Pauses interface {
	IsPaused(root uint32, g ledger.Group) bool
}

// Pricer knows the cost of a hit, and takes what a malloc with its free costs a target; [budget.Prices] implements it.
type Pricer interface {
	Hit(emulated bool) time.Duration
	HeapCosts(d time.Duration)
}

// CrowdCount knows how many files of all targets have probes; [tracee.List] implements it.
type CrowdCount interface {
	AllPlaces() int
}

// TargetFiles are the files and mappings of targets.
type TargetFiles struct {
	*tracee.Certificate
	FS process.FS
}

func (f *TargetFiles) OpenMapping(pid int, m process.Mapping) (*process.MappedFile, error) {
	return f.FS.Image(pid).OpenMapping(m)
}

// OpenFile opens a file that may not exist.
func (f *TargetFiles) OpenFile(pid int, name string) (*process.MappedFile, error) {
	file, err := f.FS.Image(pid).OpenFile(name)
	if err != nil {
		f.NoteSilence(err)
	}
	return file, err
}

func (f *TargetFiles) Mappings(pid int) iter.Seq2[process.Mapping, error] {
	return f.FS.Image(pid).Mappings()
}

func (f *TargetFiles) Variables(pid int, names ...string) map[string]string {
	variables, _ := f.FS.Proc(pid).Variables(names...)
	return variables
}

// Kit is what the instruments of all targets share: analyses of files, and the probes on files.
type Kit struct {
	Analyses     Analyses
	Interpreters Interpreters
	Ahead        ModulesAhead
	Placer       Placer
}

// NewKit returns a kit without any analysed files.
func NewKit(fs process.FS, kernel *tracee.KernelHalf, report *tracee.Certificate, natives *running.Natives) *Kit {
	k := &Kit{
		Analyses: Analyses{FS: fs},
		Placer:   Placer{Certificate: report, Ledger: kernel, Natives: natives},
	}
	k.Interpreters = Interpreters{FS: fs, Analyses: &k.Analyses}
	k.Ahead = ModulesAhead{Analyses: &k.Analyses}
	return k
}
