package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"

	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/internal/companion"
	"ipytracer/internal/host/filecache"
	"ipytracer/internal/host/invoker"
	"ipytracer/internal/report/text"
	"ipytracer/internal/words"
	"ipytracer/model"
	"ipytracer/tracer"
)

// SessionOptions are the flags of the commands that trace.
type SessionOptions struct {
	OutputOptions
	Record    string
	Force     bool
	ReadyFile string
	Duration  time.Duration
	Budget    string
	Ring      int
	NoStacks  bool
	Native    bool
	Heap      bool
	// SmallArrays counts NumPy's blocks of less than 1,024 bytes as well.
	SmallArrays bool
	// Counters adds page faults, switches and the processor's counts to the report.
	Counters bool
	Limit    string
	// NoCache ignores the cache of earlier attaches.
	NoCache bool
	Verbose bool
}

// AddFlags defines the flags.
func (o *SessionOptions) AddFlags(f *pflag.FlagSet) {
	o.OutputOptions.AddFlags(f)
	f.StringVar(&o.Record, "record", "",
		"write everything to `FILE` while it happens; 'tracer report FILE' prints it again")
	f.BoolVar(&o.Force, "force", false, "let --record overwrite a file")
	f.StringVar(&o.ReadyFile, "ready-file", "",
		"create `FILE`, with the tracer's process ID, once every probe is in place")
	f.StringVar(&o.Budget, "budget", "3%", "what probes may cost, as a `SHARE` of the session's time, or 'off'; "+
		"resident and mapped are never stepped down")
	f.IntVar(&o.Ring, "ring", 4096,
		"size of the ring of changes in `KiB`, a power of two; a small one loses proof, never peaks")
	f.BoolVar(&o.Heap, "heap", false,
		"count every malloc and free, as the meter cpu.heap; slows down programs that call them often")
	f.BoolVar(&o.NoStacks, "no-stacks", false,
		"do not find out who allocates; costs less where many small arrays are made")
	f.BoolVar(&o.Native, "native", false,
		"show the C, C++ and Rust functions between the allocation and Python, too; costs more")
	f.BoolVar(&o.SmallArrays, "small-arrays", false,
		"count NumPy's blocks of less than 1,024 bytes as well; costs more where many small arrays are made")
	f.BoolVar(&o.Counters, "counters", false, "count page faults and context switches of each window, "+
		"and instructions, cycles and cache misses where the machine does")
	f.StringVar(&o.Limit, "limit", "",
		"let each process map `SIZE` at most, such as 8GiB, or 'auto': a MemoryError instead of the OOM killer")
	f.BoolVar(&o.NoCache, "no-cache", false,
		"find out anew where probes go, and keep nothing of it for the next attach")
	f.BoolVarP(&o.Verbose, "verbose", "v", false, "log to standard error")
}

// tracerOptions checks the flags and turns them into a session's options.
func (o *SessionOptions) tracerOptions(c console) (tracer.Options, error) {
	if err := errors.Join(o.Check(), o.checkGPU()); err != nil {
		return tracer.Options{}, err
	}
	budget, err := parseBudget(o.Budget)
	if err != nil {
		return tracer.Options{}, usageError{err}
	}
	if o.Ring < 4 || o.Ring&(o.Ring-1) != 0 || o.Ring > 1<<20 {
		return tracer.Options{}, usageError{fmt.Errorf("--ring %d: it is a power of two from 4", o.Ring)}
	}
	limit, err := parseLimit(o.Limit)
	if err != nil {
		return tracer.Options{}, err
	}
	who, err := invoker.Find()
	if err != nil {
		return tracer.Options{}, err
	}
	if o.Native && o.NoStacks {
		return tracer.Options{}, usageError{errors.New("--native and --no-stacks exclude each other")}
	}
	return tracer.Options{
		Log: logger(c.err, o.Verbose), Version: version, Budget: budget, ChangeRing: o.Ring << 10, NoStacks: o.NoStacks,
		Native: o.Native, Heap: o.Heap,
		Holders: o.Record != "", SmallArrays: o.SmallArrays, Counters: o.Counters, Limit: limit,
		MayLimit: who.MayChange, Cache: o.cache(),
	}, nil
}

// cache returns the folder of the cache for the places of probes.
func (o *SessionOptions) cache() string {
	if o.NoCache {
		return ""
	}
	return filecache.Folder
}

// consumer processes a session's events: for a report, or for an audit.
type consumer interface {
	Add(event.Event)
	Finished() []model.Window
}

// session is a trace that becomes a report.
type session struct {
	options  *SessionOptions
	console  console
	source   event.Source
	tracker  consumer
	who      *invoker.Invoker
	rights   *invoker.Rights // the invoker's
	to       *destination
	sign     *readySign // nil without, and once it was given
	recorder *invoker.Recording
	partial  []partial // the recordings read that are not whole
	trouble  error     // the recording failed; the trace went on
	live     bool
	view     *view // nil unless a screen shows the session
	last     *lastLook
	running  *tracer.Session // the source, if it is live
	garbage  garbage
	thrift   thrift
	hub      *companion.Hub        // nil if notebooks get no answers
	answers  *answers              // likewise
	findings *attribution.Findings // of an audit, nil unless the report has leaks, too
	// unsettled: a boundary has come since the last lull.
	unsettled bool
}

// newSession determines the user who typed the command, and checks whether the report can be written to its place.
func newSession(o *SessionOptions, c console, tracker consumer) (s *session, err error) {
	s = &session{options: o, console: c, tracker: tracker, live: !o.Quiet, last: newLastLook(c.err)}
	if s.who, err = invoker.Find(); err != nil {
		return nil, err
	}
	if s.rights, err = s.who.Rights(); err != nil {
		return nil, err
	}
	if s.to, err = o.open(s.rights, c.out); err != nil {
		s.rights.Close()
		return nil, err
	}
	if s.to.file != nil {
		c.ends.takeAway(s.to.file)
	}
	return s, nil
}

// close gives up files that were not completed.
func (s *session) close() {
	s.abandon()
	s.to.Discard()
	s.rights.Close()
}

// prepare opens the output files before tracing begins: a bad path costs nothing then.
func (s *session) prepare() (err error) {
	if s.options.ReadyFile != "" {
		if s.sign, err = newReadySign(s.rights, s.options.ReadyFile); err != nil {
			return err
		}
		s.console.ends.takeAway(s.sign)
	}
	if s.options.Record != "" {
		s.recorder, err = invoker.CreateRecording(s.rights, s.options.Record, invoker.RecordingOptions{
			Version: version, Force: s.options.Force,
		})
		if err == nil {
			s.console.ends.takeAway(s.recorder)
		}
	}
	s.console.ends.expectReport()
	s.console.ends.lookEnds(s.last.cutShort)
	return err
}

// abandon gives up prepared files that were not completed.
func (s *session) abandon() {
	if s.sign != nil {
		s.sign.Discard()
	}
	if s.recorder != nil {
		s.recorder.Discard()
	}
}

// sayOlder reports that a notebook's package is too old to get its figures. Any goroutine calls it.
func sayOlder(w io.Writer, pid int) {
	fmt.Fprintf(w, "tracer: the ipytracer package in process %d cannot be answered: it seems to be older than this "+
		"tracer; update it (pip install --upgrade ipytracer) and restart the kernel\n", pid)
}

// listen answers notebooks from now on. findings are of the audit of the same session. report is the path of the coming
// report, "" if notebooks must not know it.
func (s *session) listen(tracker *attribution.Tracker, findings *attribution.Findings, report string) tracer.Companion {
	s.hub = companion.New(companion.Options{
		Version: version, Report: report, Who: text.Who, NoSource: s.options.NoSource, Words: spoken(),
		Slower:     func() []string { return slower(s.running, words.DearProbesSoFar) },
		FreeOnGPUs: func() map[int]int64 { return tracer.FreeOnGPUs(s.running) },
		Older:      func(pid int) { sayOlder(s.console.err, pid) },
	}, tracker)
	s.answers = &answers{session: s, reports: tracker}
	s.answers.findings.Store(findings)
	if s.options.hasLeaks() {
		s.findings, s.answers.needed = findings, true
	}
	s.hub.Look(looker{s.answers})
	return s.hub
}

// follow processes every event until the source ends.
func (s *session) follow(ctx context.Context, pending func() bool) error {
	defer s.last.isOver(s.console.ends)
	if s.answers != nil {
		defer context.AfterFunc(ctx, s.answers.giveUp)()
	}
	for {
		e, err := s.source.Next(ctx)
		if errors.Is(err, io.EOF) {
			return s.closeRecording()
		}
		if err != nil {
			return errors.Join(err, s.closeRecording())
		}
		if !s.lookedAt(e) && !s.settled(e) {
			s.take(e)
		}
		s.garbage.pace()
		s.thrift.pace(s)
		if pending() {
			continue
		}
		s.lull()
		s.flush()
		s.print()
		if s.view != nil {
			if err := s.view.update(); err != nil {
				return err
			}
		}
	}
}

// print concludes a finished session. Messages to standard error cannot end a session (see [messages]).
func (s *session) print() {
	finished := s.tracker.Finished()
	if s.hub != nil { // a notebook waits for its figures
		s.hub.Finished(finished)
		s.hub.Answer()
	}
	if s.view != nil {
		s.view.past.Add(finished)
	}
	for _, w := range finished {
		if !s.live {
			continue
		}
		if s.options.NoSource {
			w.Source = ""
		}
		_ = text.Live(s.console.err, w, text.Options{Color: colored(s.console.err), Width: width(s.console.err)})
	}
}

// remains returns the tasks of the program besides tracing, from its first look into the target on.
func (s *session) remains() *tracer.Remains {
	_, _ = time.Now().Zone() // the time zone is read while files can be
	r := &tracer.Remains{Files: true, Folders: []string{os.TempDir()}, User: s.who.Heir()}
	if s.view != nil && s.view.terminal != nil {
		r.Terminals = append(r.Terminals, s.view.terminal.Descriptor())
	}
	files := []*invoker.File{s.to.file}
	if s.sign != nil {
		files = append(files, s.sign.file)
	}
	if s.recorder != nil {
		files = append(files, s.recorder.Place())
	}
	for _, f := range files {
		if f != nil {
			r.Folders = append(r.Folders, f.Folder())
		}
	}
	r.Overrides = override(files...)
	return r
}

// ready gives the recording its name, and signals that every probe is in.
func (s *session) ready() error {
	if s.recorder != nil {
		if err := s.recorder.Keep(); err != nil {
			return err
		}
	}
	if s.sign == nil {
		return nil
	}
	if err := s.sign.give(); err != nil {
		return err
	}
	s.sign = nil
	return nil
}
