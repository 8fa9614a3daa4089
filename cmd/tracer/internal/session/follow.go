package session

import (
	"context"
	"errors"
	"fmt"
	"io"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/event"
	"ipytracer/internal/companion"
	"ipytracer/internal/host/limit"
	"ipytracer/internal/report/text"
	"ipytracer/internal/words"
	"ipytracer/model"
	"ipytracer/tracer"
)

// sayOlder reports that a notebook's package is too old to get the notebook's figures. Any goroutine calls it.
func sayOlder(w io.Writer, pid int) {
	fmt.Fprintf(w, "tracer: the ipytracer package in process %d cannot be answered: it seems to be older than this "+
		"tracer; update it (pip install --upgrade ipytracer) and restart the kernel\n", pid)
}

// Listen answers notebooks from now on. findings are of the audit of the same session. report is the path of the coming
// report; "" if notebooks must not know it.
func (s *Session) Listen(tracker *attribution.Tracker, findings *attribution.Findings, report string) tracer.Companion {
	s.hub = companion.New(companion.Options{
		Version: s.Console.Version, Report: report, Who: text.Who, NoSource: s.Options.NoSource, Words: spoken(),
		Slower:     func() []string { return Slower(s.Running, words.ExpensiveProbesSoFar) },
		FreeOnGPUs: func() map[int]int64 { return tracer.FreeOnGPUs(s.Running) },
		Older:      func(pid int) { sayOlder(s.Console.Err, pid) },
	}, tracker)
	s.answers = &answers{
		hub: s.hub, running: func() *tracer.Session { return s.Running }, noSource: s.Options.NoSource,
		reports: tracker,
	}
	s.answers.findings.Store(findings)
	if s.Options.HasLeaks() {
		s.findings, s.answers.needed = findings, true
	}
	s.hub.Look(looker{s.answers})
	return s.hub
}

// Follow processes every event until the source ends.
func (s *Session) Follow(ctx context.Context, pending func() bool) error {
	defer s.Last.isOver()
	if s.answers != nil {
		defer context.AfterFunc(ctx, s.answers.giveUp)()
	}
	for {
		e, err := s.Source.Next(ctx)
		if errors.Is(err, io.EOF) {
			s.record.close()
			return nil
		}
		if err != nil {
			s.record.close()
			return err
		}
		if !s.lookedAt(e) && !s.settled(e) {
			s.take(e)
		}
		s.Garbage.Pace()
		s.giveUp(s.thrift.pace(s.Running))
		if pending() {
			continue
		}
		s.lull()
		s.record.flush()
		s.print()
		if s.View != nil {
			if err := s.View.Update(); err != nil {
				return err
			}
		}
	}
}

// giveUp forgets the stacks of the session, for a reason. If the reason is "", it does nothing. An audit depends on the
// stacks, so it is dropped, too.
func (s *Session) giveUp(why string) {
	if why == "" {
		return
	}
	s.findings = nil
	if s.answers != nil {
		s.answers.drop()
	}
	if tracker, ok := s.Tracker.(*attribution.Tracker); ok {
		attribution.GiveUp(tracker, why)
	}
	limit.Collect()
	s.Console.Say("%s", why)
}

// print concludes a finished session. Messages to standard error cannot end a session (see [messages]).
func (s *Session) print() {
	finished := s.Tracker.Finished()
	if s.hub != nil { // a notebook waits for its figures
		s.hub.Finished(finished)
		s.hub.Answer()
	}
	if s.View != nil {
		s.View.Closed(finished)
	}
	for _, w := range finished {
		if !s.Live {
			continue
		}
		if s.Options.NoSource {
			w.Source = ""
		}
		_ = text.Live(s.Console.Err, w, console.TextOptions(s.Console.Err))
	}
}

// lookedAt hands on the result of a look, which is no part of the session. It returns false for an event that is no
// such result.
func (s *Session) lookedAt(e event.Event) bool {
	found, ok := e.(*event.Looked)
	if ok && s.hub != nil {
		s.lull() // the answer needs every event up to here
		s.hub.Looked(found)
	}
	return ok
}

// lull adds an event which says that the rings are empty. A recording has this event at the same place. Only events
// change the results, so a replay gives the same results.
func (s *Session) lull() {
	if s.unsettled {
		s.take(&event.Lull{})
	}
}

func (s *Session) take(e event.Event) {
	switch e.(type) {
	case *event.Boundary:
		s.unsettled = true
	case *event.Lull:
		s.unsettled = false
	}
	s.record.write(e)
	s.Tracker.Add(e)
	if s.hub != nil {
		s.hub.Note(e)
		s.answers.add(e)
	}
}

// settled handles the event after which every figure is known, and prints the finished part of the report. It reports
// whether the event was a [event.Settled].
func (s *Session) settled(e event.Event) bool {
	now, ok := e.(*event.Settled)
	if !ok {
		return false
	}
	s.lull()
	s.take(now)
	s.record.flush()
	s.print()
	s.Last.doing.Begin(s.Console.Err, s.Options.Quiet || s.Options.Verbose, lookingAt(now))
	tracker, ok := s.Tracker.(*attribution.Tracker)
	if !ok || !showsFirst(s) {
		s.Last.doing.Start()
		return true
	}
	if s.View != nil {
		s.View.End()
		s.View = nil
	}
	first, err := s.Options.First(s.To.Writer, tracker.Stream())
	if err != nil { // the whole report will have the error
		s.Last.doing.Start()
		return true
	}
	s.Last.show(s.To, first)
	return true
}

// showsFirst reports whether a session's report goes to a terminal, to be read from its first screen on.
func showsFirst(s *Session) bool {
	if s.View != nil {
		if _, ok := s.View.Terminal(); !ok || s.Options.Quiet {
			return false
		}
	}
	_, is := console.Terminal(s.To.Writer)
	return is && s.To.Path == "" && s.Options.Format == "text" && !s.Options.Full
}

// lookingAt describes the look, on a line of 80 cells.
func lookingAt(e *event.Settled) string {
	if e.Holders {
		return "looking at objects: holders of memory, variables (Ctrl-C ends this)"
	}
	return "looking at objects: variables (Ctrl-C ends this)"
}

// thrift keeps a session below the limit on the tracer's own memory.
type thrift struct{ events int }

const thriftInterval = 1 << 8 // events

// pace is called at each event, and acts now and then. It returns the reason why the session gave up its stacks; "" if
// it did not.
func (t *thrift) pace(running *tracer.Session) (why string) {
	if t.events++; running == nil || t.events%thriftInterval != 0 && running.Pending() {
		return ""
	}
	return tracer.Economize(running)
}

// OwnMemory returns the tracer's memory and its limit.
func OwnMemory(running *tracer.Session) *model.OwnMemory {
	f := tracer.Footprint(running)
	if f.Resident == 0 {
		return nil
	}
	own := &model.OwnMemory{Resident: f.Resident, Kernel: f.Kernel}
	if b := f.Bound; b != nil {
		own.Limit, own.LimitBy, own.Left = b.Bytes, b.Name, b.Room()
	}
	return own
}

// Slower describes each probe that costs more than usual because of its place. says returns the description of a probe
// and its cost so far. Probes for which it returns "" are left out.
func Slower(running *tracer.Session, says func(*model.Probe) string) (all []string) {
	for _, p := range tracer.DearProbes(running) {
		one := attribution.Probe(p)
		if text := says(&one); text != "" {
			all = append(all, text)
		}
	}
	return all
}
