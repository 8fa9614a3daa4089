package doctor

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"ipytracer/event"
)

var (
	// ErrNoWorkload says that no workload has the name.
	ErrNoWorkload = errors.New("there is no workload")
	// ErrWorkload says that a workload could not do its work.
	ErrWorkload = errors.New("the workload could not do its work")
)

// RunWorkload runs a workload or a loop in this process. A workload writes its readings to reportFD. A loop takes
// requests on standard input.
func RunWorkload(name string) (err error) {
	if run := loops[name]; run != nil {
		return run(os.Stdin, os.Stdout)
	}
	found, ok := FindWorkload(name)
	if !ok {
		return fmt.Errorf("%w %q", ErrNoWorkload, name)
	}
	// Go's runtime must not allocate at the peak.
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(1)
	runtime.LockOSThread()
	defer func() {
		if failure := recover(); failure != nil {
			err = fmt.Errorf("%w: %v: %v", ErrWorkload, name, failure)
		}
	}()
	s := newStage()
	found.run(s)
	s.send()
	return nil
}

// FindWorkload returns the workload of this name.
func FindWorkload(name string) (Workload, bool) {
	for _, w := range Workloads {
		if w.Name == name {
			return w, true
		}
	}
	return Workload{}, false
}

// The names of the meters that a workload may move.
var (
	Mapped   = event.Mapped.String()
	Resident = event.Resident.String()
	Anon     = event.ResidentAnon.String()
	File     = event.ResidentFile.String()
	Shmem    = event.ResidentShmem.String()
)

// private are the meters that private memory moves.
var private = []string{Mapped, Resident, Anon}

// Workloads are the workloads of the self-test, in this order.
var Workloads = []Workload{
	{Name: "spike", About: "48 MiB mapped, touched, released", Meters: private, run: spike},
	{Name: "blip", About: "4 MiB for about a millisecond", Meters: private, run: blip},
	{Name: "untouched", About: "256 MiB mapped, never touched", Meters: private, run: untouched},
	{Name: "zero-page", About: "64 MiB read, never written", Meters: private, run: zeroPage},
	{Name: "mremap", About: "8 MiB grown to 40 MiB by mremap", Meters: private, run: mremap},
	{Name: "brk", About: "the heap up by 32 MiB and down again", Meters: private, run: brk},
	{Name: "mprotect", About: "PROT_NONE made writable, 16 of 32 MiB", Meters: private, run: mprotect},
	{
		Name: "dontneed", About: "32 MiB given back by MADV_DONTNEED, half taken again", Meters: private[1:],
		run: dontNeed,
	},
	{Name: "staircase", About: "partial unmaps in the middle of 48 MiB", Meters: private, run: staircase},
	{Name: "file", About: "a file mapped and read", Meters: []string{Resident, File}, run: fileMapping},
	{Name: "file-cow", About: "a private file mapping written to", Meters: private, run: fileCOW},
	{Name: "shared", About: "32 MiB of shared anonymous memory", Meters: []string{Resident, Shmem}, run: shared},
	{Name: "memfd", About: "32 MiB of a memfd, then a hole punched", Meters: []string{Resident, Shmem}, run: memfd},
	{Name: "huge", About: "64 MiB in transparent huge pages", Meters: private, run: huge},
	{Name: "threads", About: "eight threads at once, then at a barrier", Meters: private, run: threads},
	{Name: "fork", About: "a forked child writes to 16 of 32 shared MiB", Meters: private, Tree: true,
		Copied: 16 * mib, run: fork},
	{Name: "exec", About: "a child that executes a program with a peak", Meters: private, run: execChild},
	{Name: "storm", About: "1,500 rising peaks in a row", Meters: private, run: storm},
}
