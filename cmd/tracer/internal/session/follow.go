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

// sayOlder reports that a notebook's package is too old for answers. Any goroutine may call it.
func sayOlder(w io.Writer, pid int) {
	fmt.Fprintf(w, "tracer: the ipytracer package in process %d cannot be answered: it seems to be older than this "+
		"tracer; update it (pip install --upgrade ipytracer) and restart the kernel\n", pid)
}

// Listen answers notebooks from now on. findings are the audit of the same session. report is the path of the later
// report, which notebooks show; "" for none.
func (s *Session) Listen(tracker *attribution.Tracker, findings *attribution.Findings, report string) tracer.Companion {
	s.hub = companion.New(companion.Options{
		Version: s.Console.Version, Report: report, Who: text.Who, NoSource: s.Options.NoSource, Words: reportWords(),
		Slower:     func() []string { return Slower(s.Running, words.ExpensiveProbesSoFar) },
		FreeOnGPUs: func() map[int]int64 { return tracer.FreeOnGPUs(s.Running) },
		Page: func(pid int, tensors bool, handler, live uint64) (int, error) {
			if tensors {
				return tracer.TensorsPage(s.Running, pid)
			}
			return s.Running.CountsPage(pid, handler, live)
		},
		Older: func(pid int) { sayOlder(s.Console.Err, pid) },
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
		if !s.handleLook(e) && !s.handleSettled(e) {
			s.take(e)
		}
		s.Garbage.Pace()
		s.giveUpStacks(s.guard.check(s.Running))
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

// giveUpStacks forgets the session's stacks, and the audit, which needs them. It reports the reason; if that is "", it
// does nothing.
func (s *Session) giveUpStacks(why string) {
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

// print passes on the windows that have finished: to notebooks, to the screen, and as live lines to standard error. A
// failed write to standard error is no error.
func (s *Session) print() {
	finished := s.Tracker.Finished()
	if s.hub != nil { // first, because a notebook is waiting
		s.hub.Finished(finished)
		s.hub.Answer()
	}
	if s.View != nil {
		s.View.Closed(finished)
	}
	if !s.Live {
		return
	}
	for _, w := range finished {
		if s.Options.NoSource {
			w.Source = ""
		}
		_ = text.Live(s.Console.Err, w, console.TextOptions(s.Console.Err))
	}
}

// handleLook passes on the result of a look that a notebook asked for. It returns false for any other event. A look is
// no part of the session: neither the recording nor the tracker gets its result.
func (s *Session) handleLook(e event.Event) bool {
	found, isLook := e.(*event.Looked)
	if isLook && s.hub != nil {
		s.lull() // the answer needs every event up to here
		s.hub.Looked(found)
	}
	return isLook
}

// lull adds the event that no record is waiting, if a boundary has come since the last one. The recording gets the
// event at the same place, so a replay gives the same results.
func (s *Session) lull() {
	if s.needsLull {
		s.take(&event.Lull{})
	}
}

// take gives an event to the recording, the tracker and the notebooks.
func (s *Session) take(e event.Event) {
	switch e.(type) {
	case *event.Boundary:
		s.needsLull = true
	case *event.Lull:
		s.needsLull = false
	}
	s.record.write(e)
	s.Tracker.Add(e)
	if s.hub != nil {
		s.hub.Note(e)
		s.answers.note(e)
	}
}

// handleSettled takes the event after which every figure is known, and begins to print the finished part of the report.
// It returns false for any other event.
func (s *Session) handleSettled(e event.Event) bool {
	settled, ok := e.(*event.Settled)
	if !ok {
		return false
	}
	s.lull()
	s.take(settled)
	s.record.flush()
	s.print()
	s.Last.progress.Begin(s.Console.Err, s.Options.Quiet || s.Options.Verbose, lookingAt(settled))
	if !s.showFirst() {
		s.Last.progress.Start()
	}
	return true
}

// showFirst begins to print the finished part of the report, if the report goes to a terminal.
func (s *Session) showFirst() bool {
	tracker, ok := s.Tracker.(*attribution.Tracker)
	if !ok || !showsFirst(s) {
		return false
	}
	if s.View != nil {
		s.View.End()
		s.View = nil
	}
	first, err := s.Options.First(s.To.Writer, tracker.Stream())
	if err != nil { // the whole report will have the error
		return false
	}
	s.Last.show(s.To, first)
	return true
}

// showsFirst reports whether the report goes to a terminal as text, so that its first part can be printed early.
func showsFirst(s *Session) bool {
	if s.View != nil {
		if _, ok := s.View.Terminal(); !ok || s.Options.Quiet {
			return false
		}
	}
	_, isTerminal := console.Terminal(s.To.Writer)
	return isTerminal && s.To.Path == "" && s.Options.Format == "text" && !s.Options.Full
}

// lookingAt describes the last look, in a line for 80 columns.
func lookingAt(e *event.Settled) string {
	if e.Holders {
		return "looking at objects: holders of memory, variables (Ctrl-C ends this)"
	}
	return "looking at objects: variables (Ctrl-C ends this)"
}

// memoryGuard keeps a session below the limit on the tracer's own memory.
type memoryGuard struct{ events int }

// guardInterval is the number of events from one check to the next.
const guardInterval = 1 << 8

// check is called at each event. At every guardInterval-th one, or when no event is pending, it looks at the memory. It
// returns the reason why the session gave up its stacks, "" if it did not.
func (g *memoryGuard) check(running *tracer.Session) (why string) {
	g.events++
	if running == nil {
		return ""
	}
	if g.events%guardInterval != 0 && running.Pending() {
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

// Slower describes each probe that costs more than usual because of its place. says returns the description of a probe,
// "" to leave it out.
func Slower(running *tracer.Session, says func(*model.Probe) string) (texts []string) {
	for _, p := range tracer.DearProbes(running) {
		probe := attribution.Probe(p)
		if text := says(&probe); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}
