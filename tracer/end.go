package tracer

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"ipytracer/event"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/lastlook"
	"ipytracer/tracer/internal/running"
	"ipytracer/tracer/internal/tracee"
)

// Percentages of garbage that Go may keep at the end, of the memory in use. The last steps take more memory than all
// before, and the listing of variables takes most.
const (
	windGC    = 40
	listingGC = 10
)

// wind ends the session in two steps: first the last boundaries, after which every figure is known; then the look at
// objects, the last records, and the counters. With [Options.Settle], it hands out the events between the steps.
func (s *Session) wind() error {
	if !s.end.drawn {
		s.fs.Helper.Hurry(askedAtTheEnd)
		if err := s.drawLast(); err != nil {
			return err
		}
		if s.joining.open {
			return endFollowing(s)
		}
		if s.end.drawn = true; s.options.Settle && canLook(s.targets.All) {
			f := s.finish()
			s.queue.add(&event.Settled{Finish: *f, Holders: s.options.Holders})
			return nil
		}
	}
	look, last, err := s.lookAtObjects()
	if err != nil {
		return err
	}
	if err := s.ledger.Drain(&s.intake); err != nil {
		return err
	}
	s.queue.add(look.Holders(&s.code.Cells)...)
	s.queue.add(lastlook.WithInputs(&s.code.Cells, last)...)
	s.code.Natives.Naming.Wait(running.EndPatience)
	if err := s.fs.Helper.Ended(); err != nil {
		s.certificate.Missing++
		s.certificate.Problem("%v: what was to be opened since then was not looked at", err)
	}
	s.queue.add(s.finish())
	s.end.over = true
	return nil
}

// askedAtTheEnd is the longest time in all that the end of a session waits for file systems that do not answer.
const askedAtTheEnd = 2 * time.Second

// drawLast draws the last boundary of each running target, and reads the records up to it.
func (s *Session) drawLast() error {
	s.Looks.stop()
	s.limits.lift()
	s.end.shells = lastlook.AskShells(s.fs, s.targets.All)
	s.queue.add(tracee.Renamed(s.fs, s.targets.All)...)
	for _, t := range s.targets.All {
		if t.IsRoot() && !t.Gone {
			if err := s.ledger.Detach(t.PID); err != nil && !errors.Is(err, ledger.ErrNoProcess) {
				return err
			}
		}
	}
	if err := s.ledger.Drain(&s.intake); err != nil {
		return err
	}
	s.queue.add(s.watches.Last()...)
	for _, t := range s.targets.All {
		if !t.Gone && t.Mappings.Stale {
			s.examiner.listLast(t)
		}
	}
	return nil
}

// canLook reports whether there is a running Python with objects that can be looked at.
func canLook(targets []*tracee.Target) bool {
	return slices.ContainsFunc(targets, func(t *tracee.Target) bool { return !t.Gone && t.Python != nil })
}

// lookAtObjects finds the holders of blocks, lists variables by name at the same time, and removes the probes. It takes
// more memory than all before, and frees memory after each step.
func (s *Session) lookAtObjects() (look *lastlook.Look, last []event.Event, err error) {
	if err := s.ledger.Rest(); err != nil {
		return nil, nil, err
	}
	look = &lastlook.Look{
		FS: s.fs, Log: s.log, Report: &s.certificate, Interpreters: &s.probes.Interpreters, Targets: s.targets.All,
		Asked: s.options.Holders, Live: &s.live, Within: s.options.Looking,
	}
	// On a machine whose processors are all busy, a look without priority takes about ten times as long.
	done, err := s.fs.Helper.First()
	defer done()
	if err != nil {
		s.log.Debug("the look has no priority", "error", err)
	}
	s.end.garbage.allow(windGC)
	debug.FreeOSMemory()
	s.allowance.restrict(look)
	var beside sync.WaitGroup
	var residence []event.Event
	beside.Go(func() { residence = look.ExplainResident() }) // it needs no survey, and a user waits for the report
	surveys := look.Surveys()
	others := look.ForHolders(surveys)
	debug.FreeOSMemory()
	s.end.garbage.allow(listingGC)
	beside.Go(func() { last = look.ListVariables(surveys) })
	look.FindHolders(others)
	debug.FreeOSMemory()
	// Linux waits long as it removes probes, but uses no processor meanwhile.
	began := tracee.Now()
	s.probes.Placer.CloseAll(s.targets.All, s.stopSearches)
	s.log.Debug("took the probes out", "took", time.Duration(tracee.Now()-began))
	beside.Wait()
	look.SayEnded()
	return look, append(last, residence...), nil
}

// finish returns how the session has ended, with what is known by now.
func (s *Session) finish() *event.Finish {
	end := tracee.Now()
	s.sayOverlooked(end)
	s.devices.Conclude()
	unnamed := slices.Clip(s.certificate.Unnamed)
	if n := s.code.Natives.Naming.Passed(); n > 0 {
		unnamed = append(unnamed,
			fmt.Sprintf("%d native stacks have no symbols: more came than can wait for them, or a file took too long "+
				"to read", n))
	}
	f := &event.Finish{
		Time: end, Reason: s.end.stopped, Delivered: s.ledger.Delivered(), Made: s.ledger.Delivered(),
		Lost: s.certificate.Lost(s.ledger.Losses()), Unprobed: s.certificate.Unprobed, Late: s.certificate.Late,
		Probes: s.budget.Prices.Mark(s.certificate.Used(s.ledger.Hits(), s.budget.Prices.Of)), GPUs: s.devices.Named(),
		Problems: slices.Clone(s.certificate.Trouble), Unnamed: unnamed, Shells: s.end.shells,
	}
	for _, l := range f.Lost {
		if l.Reason == ledger.LostChanges {
			f.Made += l.Count
		}
	}
	return f
}

func (s *Session) stopSearches() { s.budget.Searches.Stop(s.budget.Roots) }

// Close removes every probe and frees everything. It may be called more than once.
func (s *Session) Close() error {
	s.joining.close()
	s.Looks.stop()
	s.probes.Placer.CloseAll(s.targets.All, s.stopSearches)
	errs := []error{s.limits.close()}
	for _, t := range s.targets.All {
		errs = append(errs, t.Close())
	}
	s.targets.All = nil
	s.probes.Interpreters.Close()
	s.code.Natives.Close()
	s.devices.Close()
	s.intake.counters.close()
	s.intake.containers.Close()
	s.fs.Helper.Close()
	if s.ledger.IsLoaded() && !s.end.closed {
		s.budget.Prices.Wait()
		errs = append(errs, s.ledger.Close())
		s.end.closed = true
	}
	s.end.garbage.restore()
	s.allowance.close()
	return errors.Join(errs...)
}

// sayOverlooked adds, at the end of the session, the missing data of Pythons that were not examined. A Python that
// still runs counts as having loaded all libraries, because it is not known which it has.
func (s *Session) sayOverlooked(at event.Nanoseconds) {
	o := &s.examiner.overlooked
	for pid := range o.running {
		root := pid
		if t := s.targets.Find(int(pid)); t != nil {
			root = s.targets.RootOf(t.Root, pid)
		}
		o.end(pid, root, at, 0, ledger.ImportsNumPy|ledger.ImportsTorch|ledger.ImportsArrow)
	}
	if text := o.sentence(); text != "" {
		s.certificate.Unseen += o.ended
		s.certificate.Trouble = append(s.certificate.Trouble, text) // even beyond the limit on problems
	}
	for _, times := range o.times {
		s.certificate.Unprobed = append(s.certificate.Unprobed, times...)
	}
	*o = overlooked{}
}

// endFollowing ends a session of [Follow]. It has no look at objects: nobody asks for their holders.
func endFollowing(s *Session) error {
	s.probes.Placer.CloseAll(s.targets.All, s.stopSearches)
	if err := s.ledger.Drain(&s.intake); err != nil {
		return err
	}
	s.queue.add(s.finish())
	s.end.over = true
	return nil
}
