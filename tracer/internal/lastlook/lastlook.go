// Package lastlook looks at the objects of live Pythons at the end of a session. It finds who holds the blocks that are
// left, what there is by name, and where resident memory is.
package lastlook

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/tracer/internal/instruments"
	"ipytracer/tracer/internal/tracee"
)

// Look examines the live Python processes at the end: the holders of blocks, the variables by name, and the places
// of resident memory.
type Look struct {
	FS           process.FS
	Log          *slog.Logger
	Report       *tracee.Certificate
	Interpreters *instruments.Interpreters
	Targets      []*tracee.Target
	Asked        bool // search for the holders, too; then all of the look may take longer
	Live         *Live
	Within       context.Context // nil: the look ends by itself
	cut          atomic.Bool     // the user ended the look before it was complete
	Objects      int             // the largest number of objects to examine of each process; 0: no limit
	Barred       string          // why no objects are examined; "": they are
	One          bool            // the look is at one process, which may be a child, while the session runs
	Watch        []event.Piece   // in a look at one process: objects to check for whether they still exist

	Still []bool // by the index in Watch, after a listing: the object still exists

	found   []holding
	workers []*event.Holders // workers of pools
}

// Bounds of the search for holders at the end of a session.
const (
	holdersTime    = 20 * time.Second // of one process: processor time
	holdersInAll   = 2 * time.Minute  // of all processes: processor time
	holdersObjects = 5_000_000        // of one process: containers
	workersInAll   = 2 * time.Second  // of all children, where only idle workers are searched for: processor time
	holdersEvents  = 1000             // holders in one event
	viewsEvents    = 64               // views in one event
)

// Bounds of listing the variables at the end of a session. They are lower where only a report was asked for, because
// people wait for it.
const (
	listingTime    = 10 * time.Second // of one process: processor time
	listingInAll   = 2 * time.Minute  // of all processes: processor time
	briefTime      = 6 * time.Second  // reading another process takes five times as long on some machines
	briefInAll     = 16 * time.Second
	briefObjects   = 3_000_000 // containers
	briefBytes     = 2 << 30
	briefListed    = 3 * briefObjects // with the leaves that several containers have
	listingObjects = 3 * holdersObjects
)

// holding is the search result for one process.
type holding struct {
	target *tracee.Target
	time   event.Nanoseconds
	result holders.Result
}

func (h holding) event(part []event.Holder) *event.Holders {
	return &event.Holders{
		Time: h.time, Root: h.target.Root, PID: int32(h.target.PID), Complete: h.result.Complete,
		Objects: int64(h.result.Objects), Holders: part,
	}
}

func (l *Look) context() context.Context {
	if l.Within == nil {
		return context.Background()
	}
	return l.Within
}

// cutShort reports whether the user has ended the look, and if so notes that it is incomplete. It is called where
// something is left to search.
func (l *Look) cutShort() bool {
	ended := l.context().Err() != nil
	if ended {
		l.cut.Store(true)
	}
	return ended
}

// SayEnded adds to the report the processes with incomplete results because the user ended the look.
func (l *Look) SayEnded() {
	for _, t := range l.Targets {
		if l.cut.Load() && !t.Gone && t.Python != nil {
			l.Report.LeavesUnnamed("pid %d: the look at its objects was ended by Ctrl-C: who holds what, and what "+
				"there is by name, is not known in full", t.PID)
		}
	}
}

// survey covers one process.
type survey struct {
	*holders.Survey
	target *tracee.Target
	pages  *pages // nil where they cannot be read
}

// pages is a process's table of pages, for one survey or for two that are beside each other.
type pages struct {
	*os.File
	users atomic.Int32
}

// Close implements [io.Closer], for each survey.
func (s *survey) Close() {
	if s.Survey != nil {
		s.Survey.Close()
	}
	if s.pages != nil && s.pages.users.Add(-1) == 0 {
		s.pages.File.Close()
	}
}

// Surveys examines the objects of every live Python process. The caller must close the surveys.
func (l *Look) Surveys() []*survey {
	limits, inAll := objects.Limits{Time: briefTime, Objects: briefObjects, Bytes: briefBytes}, briefInAll
	if l.Asked {
		limits, inAll = objects.Limits{Time: holdersTime, Objects: holdersObjects}, holdersInAll
	}
	longest := limits.Time
	if l.Objects > 0 {
		limits.Objects = min(limits.Objects, l.Objects)
	}
	left := newProcessorTime(l.context(), inAll)
	defer left.done()
	var surveys []*survey
	for _, t := range l.Targets {
		if t.Gone || t.Python == nil {
			continue
		}
		if l.Barred != "" {
			l.Report.LeavesUnnamed("pid %d: its objects were not looked at (%s): who holds what, and what there is "+
				"by name, is not told", t.PID, l.Barred)
			continue
		}
		began := tracee.Now()
		process := holders.Process{Used: func() time.Duration { return time.Duration(t.Used()) }}
		l.mapped(t.PID, &process)
		next := &survey{target: t, pages: l.pages(t)}
		if next.pages != nil {
			process.Pages = next.pages
		}
		limits.Time = left.share(longest)
		walked, err := holders.NewSurvey(left, t.Python.Live, process, limits)
		if next.Survey = walked; err != nil {
			next.Close()
		}
		if errors.Is(err, cpython.ErrUnsupported) {
			l.Report.LeavesUnnamed("pid %d: who holds what, and what there is by name, is not told: %v", t.PID, err)
			continue
		}
		if err != nil {
			l.Log.Warn("the objects of a process could not be looked at", "pid", t.PID, "error", err)
			continue
		}
		if why := walked.Stopped(); why != nil && !l.cutShort() {
			l.Report.LeavesUnnamed("pid %d: not all of its objects were looked at (%v, after %d objects): who holds "+
				"what, and what there is by name, is not told", t.PID, why, walked.Looked())
		}
		l.Log.Debug("looked at all objects", "pid", t.PID, "took", time.Duration(tracee.Now()-began))
		for _, other := range surveys {
			other.Rest()
		}
		surveys = append(surveys, next)
	}
	return surveys
}

// pages opens the process's table of pages.
func (l *Look) pages(t *tracee.Target) *pages {
	file, err := l.FS.Proc(t.PID).File("pagemap")
	if err != nil {
		l.Log.Debug("which pages were touched is not known", "pid", t.PID, "error", err)
		return nil
	}
	p := &pages{File: file}
	p.users.Store(1)
	return p
}

// ForHolders returns the surveys for FindHolders, nil if holders are not asked for. Both lists must be processed in the
// same order, at the same time, and each survey closed once it is used: one list waits for the other if two surveys
// would take too much memory.
func (l *Look) ForHolders(surveys []*survey) (others []*survey) {
	if !l.Asked {
		return nil
	}
	for _, s := range surveys {
		others = append(others, &survey{Survey: s.Beside(), target: s.target, pages: s.pages})
		if s.pages != nil {
			s.pages.users.Add(1)
		}
	}
	return others
}

// running returns the threads of a process that run cells, if the process is examined while it runs them.
func (l *Look) running(t *tracee.Target) (states []uint64) {
	if !l.One {
		return nil
	}
	threads, err := t.Python.Live.RunningCells()
	if err != nil {
		l.Log.Debug("the threads could not be read", "pid", t.PID, "error", err)
	}
	for _, thread := range threads {
		states = append(states, thread.State)
	}
	return states
}

// mapped sets in to the mapped memory of a process, with adjacent mappings merged, the mappings of files, and malloc's
// heap.
func (l *Look) mapped(pid int, to *holders.Process) {
	for m, err := range l.FS.Image(pid).Mappings() {
		if err != nil {
			break
		}
		block := objects.Block{Address: m.Start, Size: m.End - m.Start}
		switch {
		case m.File != (process.FileID{}):
			to.Files = append(to.Files, block)
		case m.Path == "[heap]" && to.Heap.Address+to.Heap.Size == m.Start: // Linux does not merge all of it
			to.Heap.Size += block.Size
		case m.Path == "[heap]":
			to.Heap = block
		}
		if n := len(to.Mapped); n > 0 && to.Mapped[n-1].Address+to.Mapped[n-1].Size == m.Start {
			to.Mapped[n-1].Size += block.Size
		} else {
			to.Mapped = append(to.Mapped, block)
		}
	}
}

// processorTime limits the processor time that a look at several processes may take on the thread that began it. Other
// programs may use the processors meanwhile, so the limit on wall time is much higher.
type processorTime struct {
	context.Context
	until  time.Duration
	cancel context.CancelFunc
}

var errHeldUp = errors.New("it took too long")

// newProcessorTime keeps the goroutine on its thread until done.
func newProcessorTime(ctx context.Context, most time.Duration) processorTime {
	runtime.LockOSThread()
	within, cancel := context.WithTimeoutCause(ctx, tracee.HeldUp*most, errHeldUp)
	return processorTime{within, objects.ProcessorTime() + most, cancel}
}

func (p processorTime) done() {
	p.cancel()
	runtime.UnlockOSThread()
}

// share returns the time for the next process: at most most, and at least a millisecond.
func (p processorTime) share(most time.Duration) time.Duration {
	return max(min(most, p.until-objects.ProcessorTime()), time.Millisecond)
}

// isOver reports whether the time is over, or the look was ended.
func (p processorTime) isOver() bool { return p.Err() != nil || objects.ProcessorTime() >= p.until }
