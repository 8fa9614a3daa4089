// Package workload has the built-in programs of known memory. Each takes memory in a way of its own and reads its page
// tables at its peak, or measures the time of an operation. The package also starts such a program as a process of its
// own and reads its results. Packages selftest and doctor compare them with the tracer's figures.
package workload

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

// Workload is a program of known truth: it allocates memory, reads its page tables at its peak, and frees the memory.
type Workload struct {
	Name  string
	About string // for people
	// Meters are those with their peak at the instant of the reading.
	Meters []string
	// Tree: the truths of all its processes were read at one instant. The tree's truth is their sum, less shared
	// memory.
	Tree bool
	run  func(*stage)
}

// ReportFD is the descriptor for a workload's readings: the first of exec.Cmd.ExtraFiles.
const ReportFD = 3

var (
	// ErrUnknown says that no workload has the name.
	ErrUnknown = errors.New("there is no workload")
	// ErrFailed says that a workload could not do its work.
	ErrFailed = errors.New("the workload could not do its work")
)

// Run runs the workload or the loop of this name: this process allocates the memory, and writes its readings to
// ReportFD. A loop takes requests on standard input.
func Run(name string) (err error) {
	if run := loops[name]; run != nil {
		return run(os.Stdin, os.Stdout)
	}
	w, ok := Find(name)
	if !ok {
		return fmt.Errorf("%w %q", ErrUnknown, name)
	}
	// Activity of the runtime would be noise at the peak.
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(1)
	runtime.LockOSThread()
	defer func() {
		if failure := recover(); failure != nil {
			err = fmt.Errorf("%w: %v: %v", ErrFailed, name, failure)
		}
	}()
	s := newStage()
	w.run(s)
	s.send()
	return nil
}

// Find returns the workload of this name.
func Find(name string) (Workload, bool) {
	for _, w := range All {
		if w.Name == name {
			return w, true
		}
	}
	return Workload{}, false
}
