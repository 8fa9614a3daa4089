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

// These are the percentages of garbage, of the memory in use, at the end. The remaining steps are done once and take
// more memory than everything before; names take most.
const (
	windGC    = 40
	listingGC = 10
)

// wind ends the session in two steps: the last boundaries, with which every figure is known; then the holders of the
// remaining blocks, the last records, and the counters. Between them it hands out the events so far, if
// [Options.Settle] asks for that.
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

// askedAtTheEnd is how long files on file systems that may not answer are waited for at the end, all together.
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

// lookAtObjects finds the holders of blocks, at the same time lists variables by name, and takes the probes out. It
// takes more memory than everything before, and gives memory back at each step.
func (s *Session) lookAtObjects() (look *lastlook.Look, last []event.Event, err error) {
	if err := s.ledger.Rest(); err != nil {
		return nil, nil, err
	}
	look = &lastlook.Look{
		FS: s.fs, Log: s.log, Report: &s.certificate, Interpreters: &s.probes.Interpreters, Targets: s.targets.All,
		Asked: s.options.Holders, Live: &s.live, Within: s.options.Looking,
	}
	// Without priority, where all processors are busy, a look waits ten times as long as it runs.
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
	others := look.BesideThem(surveys)
	debug.FreeOSMemory()
	s.end.garbage.allow(listingGC)
	beside.Go(func() { last = look.ListVariables(surveys) })
	look.FindHolders(others)
	debug.FreeOSMemory()
	// The kernel takes its time to take probes out, which needs no processor.
	began := tracee.Now()
	s.probes.Placer.CloseAll(s.targets.All, s.stopSearches)
	s.log.Debug("took the probes out", "took", time.Duration(tracee.Now()-began))
	beside.Wait()
	look.SayEnded()
	return look, append(last, residence...), nil
}

// finish describes how the session has ended, as far as that is known by now.
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

// sayOverlooked adds, at the end of the session, the missing data of Pythons that were not examined. Which libraries a
// Python has loaded that still runs is unknown.
func (s *Session) sayOverlooked(at event.Nanoseconds) {
	o := &s.examiner.overlooked
	for pid := range o.running {
		root := pid
		if t := s.targets.Find(int(pid)); t != nil {
			root = s.targets.RootOf(t.Root, pid)
		}
		o.end(pid, root, at, 0, ledger.ImportsNumPy|ledger.ImportsTorch|ledger.ImportsArrow)
	}
	if text := o.said(); text != "" {
		s.certificate.Unseen += o.ended
		s.certificate.Trouble = append(s.certificate.Trouble, text) // beyond the hundred, too
	}
	for _, all := range o.times {
		s.certificate.Unprobed = append(s.certificate.Unprobed, all...)
	}
	*o = overlooked{}
}

// endFollowing ends a session that goes on without targets: nobody asks what is left in them.
func endFollowing(s *Session) error {
	s.probes.Placer.CloseAll(s.targets.All, s.stopSearches)
	if err := s.ledger.Drain(&s.intake); err != nil {
		return err
	}
	s.queue.add(s.finish())
	s.end.over = true
	return nil
}
