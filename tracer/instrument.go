package tracer

import (
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"ipytracer/event"
	"ipytracer/tracer/host/process"
	"ipytracer/tracer/ledger"
)

// An instrument places the probes of one kind in one target, and serves them until the target is let go. A session goes through a target's mappings
// whenever that has loaded or unloaded something, and shows each to the target's instruments; what they cannot see they tell their [host], for the
// certificate.
type instrument interface {
	// meet looks at a mapping, which it may have met before; listed is called once all have been shown, unless the target ended meanwhile.
	meet(l listing, m process.Mapping)
	listed(l listing)
	// expect looks for files that the target may yet load, given its sys.path.
	expect(modules []string)
	// place puts in the probes that wait for no mapping, but for those of groups that are stepped down. It is called once, when the target has become a Python.
	place() error
	// settle does what neither that nor a mapping brings about; due is when it is to be called next at the latest, the zero time if it waits for nothing.
	settle()
	due() time.Time
	// stepDown takes the probes of a group out, stepUp puts them back; of a group that it does not serve it does nothing.
	stepDown(g ledger.Group)
	stepUp(g ledger.Group) error
	// places is how many files it has probes on, for limits over all targets.
	places() int
	// close takes all probes out and closes what it has open, which may take a while.
	close()
}

// listing is one pass over a target's mappings.
type listing struct {
	first bool              // the target has just been met: what it maps is no news
	since event.Nanoseconds // when the last one was
}

// inert is what most instruments have nothing to do about.
type inert struct{}

func (inert) meet(listing, process.Mapping) {}
func (inert) listed(listing)                {}
func (inert) expect([]string)               {}
func (inert) place() error                  { return nil }
func (inert) settle()                       {}
func (inert) due() time.Time                { return time.Time{} }
func (inert) stepDown(ledger.Group)         {}
func (inert) stepUp(ledger.Group) error     { return nil }
func (inert) places() int                   { return 0 }

// host is what an instrument has of its session.
type host interface {
	openMapping(pid int, m process.Mapping) (*process.MappedFile, error)
	openFile(pid int, name string) (*process.MappedFile, error)
	mappings(pid int) iter.Seq2[process.Mapping, error]
	variables(pid int, names ...string) map[string]string
	probeFile(t *target, file *process.MappedFile, placements []ledger.Placement) (io.Closer, error)
	hasEnded(t *target) bool
	// misses notes what is not seen of a process, and since when; problem what else there is to know; noteUse where a group's probes are.
	misses(pid int, since event.Nanoseconds, meters []event.Meter, format string, args ...any)
	problem(format string, args ...any)
	// leavesUnnamed notes what has no lines, and every figure all the same.
	leavesUnnamed(format string, args ...any)
	noteUse(g ledger.Group, where string)
	// noteDear says why a group's probes are at dearer places than there might be.
	noteDear(g ledger.Group, why string)
	// joinedLate notes a library that was used before it had probes, and the groups of which something may have been missed meanwhile.
	joinedLate(t *target, name string, missed ...ledger.Group)
	// countUnseen counts a Python whose cells cannot be seen.
	countUnseen()
	// identify finds out which GPUs a target uses; late says that it may have used them before.
	identify(t *target, late bool)
	// placeCheckpoints puts probes for every process on a library.
	placeCheckpoints(l *library) error
	// isShed says whether a group of a target is stepped down; allPlaces is how many files of all targets have probes.
	isShed(t *target, g ledger.Group) bool
	allPlaces() int
	// hit is what a probe costs; heapCosts tells the user what a malloc and its free cost.
	hit(emulated bool) time.Duration
	heapCosts(d time.Duration)
}

var _ host = (*Session)(nil)

func (s *Session) openMapping(pid int, m process.Mapping) (*process.MappedFile, error) {
	return s.fs.Image(pid).OpenMapping(m)
}

// openFile opens a file that is only looked for.
func (s *Session) openFile(pid int, name string) (*process.MappedFile, error) {
	file, err := s.fs.Image(pid).OpenFile(name)
	if err != nil {
		s.noteSilence(err)
	}
	return file, err
}

func (s *Session) variables(pid int, names ...string) map[string]string {
	variables, _ := s.fs.Proc(pid).Variables(names...)
	return variables
}

func (s *Session) joinedLate(t *target, name string, missed ...ledger.Group) {
	s.late = append(s.late, fmt.Sprintf("%s in pid %d", name, t.pid))
	for _, g := range missed {
		_ = s.ledger.Late(g, t.pid) // else it has ended
	}
}

func (s *Session) identify(t *target, late bool) { s.devices.identify(t, late) }

func (s *Session) isShed(t *target, g ledger.Group) bool { return s.budget.isShed(t.root, g) }

func (s *Session) allPlaces() (n int) {
	for _, t := range s.targets {
		for _, i := range t.instruments {
			n += i.places()
		}
	}
	return n
}

func (s *Session) mappings(pid int) iter.Seq2[process.Mapping, error] {
	return s.fs.Image(pid).Mappings()
}

func (s *Session) hit(emulated bool) time.Duration { return s.budget.prices.hit(emulated) }

func (s *Session) heapCosts(d time.Duration) { s.heapCost = max(s.heapCost, d) }

func (s *Session) foresee(t *target, files []ledger.File) error {
	return s.ledger.ForeseeModules(t.slot, files)
}

func (s *Session) countBy(t *target, by ledger.Arrays) (ledger.Arrays, ledger.Foreign, error) {
	return s.ledger.CountArrays(t.pid, by)
}

func (s *Session) lookAgain(t *target) {
	s.searches.begin(s.targets, t.root, s.budget.root(t.root), false)
}

// equip gives a target its instruments, which it has until it is let go.
func (s *Session) equip(t *target) {
	if t.instruments != nil {
		return
	}
	t.numpy = &numpyInstrument{host: s, target: t, counter: s, ahead: &s.ahead, log: s.log, small: s.options.SmallArrays}
	t.instruments = append(t.instruments, t.numpy, &windowInstrument{host: s, target: t})
	if !s.options.NoStacks {
		t.instruments = append(t.instruments, &mappedInstrument{host: s, target: t, analyses: &s.analyses}, &rulesInstrument{target: t, natives: &s.natives})
	}
	t.instruments = append(t.instruments, &libraryInstrument{host: s, target: t, analyses: &s.analyses}, &arrowInstrument{host: s, target: t, analyses: &s.analyses})
	if s.options.Heap {
		t.instruments = append(t.instruments, &heapInstrument{host: s, target: t, analyses: &s.analyses})
	}
}

// settleInstruments has a target's instruments do what they wait for.
func (s *Session) settleInstruments(t *target) {
	s.equip(t)
	for _, i := range t.instruments {
		i.settle()
	}
}

// due is when a target's instruments are to be settled next, the zero time if they wait for nothing.
func (t *target) due() (at time.Time) {
	for _, i := range t.instruments {
		at = sooner(at, i.due())
	}
	return at
}

// sooner is the earlier one of two times, of which the zero one is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// closeInstruments takes what they have placed out, all at the same time: the kernel lets a while pass for each, but not for one after the other. A process that executes another program is equipped anew.
func (t *target) closeInstruments(closing *sync.WaitGroup) {
	for _, i := range t.instruments {
		closing.Go(i.close)
	}
	t.instruments, t.numpy = nil, nil
}
