// Package workload has the built-in programs of known memory: each takes memory in a way of its own and at its peak
// reads what its page tables hold, or says how long an operation takes; and the code that starts one as a process of
// its own and reads its results. What a tracer saw of them, and whether that is the truth, is for others to say
// (selftest, doctor).
package workload

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

// Workload is a program of known truth: it takes memory, says at its peak what its page tables hold, and lets go.
type Workload struct {
	Name  string
	About string // for people
	// Meters whose peak is the one at which the truth is read.
	Meters []string
	Tree   bool // the truths of all its processes were read at one instant: the tree's is their sum, less what is shared
	run    func(*stage)
}

// ReportFD is where a workload's readings go: the first of exec.Cmd.ExtraFiles.
const ReportFD = 3

var (
	// ErrUnknown is the error about a name that no workload has.
	ErrUnknown = errors.New("there is no workload")
	// ErrFailed is what a workload that could not do its work ends with.
	ErrFailed = errors.New("the workload could not do its work")
)

// Run is the workload or the loop of this name: this very process takes the memory, and writes its readings to ReportFD. A loop is
// asked on standard input.
func Run(name string) (err error) {
	if run := loops[name]; run != nil {
		return run(os.Stdin, os.Stdout)
	}
	w, ok := Find(name)
	if !ok {
		return fmt.Errorf("%w %q", ErrUnknown, name)
	}
	// Whatever the runtime may do of its own accord would be noise at the peak.
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
