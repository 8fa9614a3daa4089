package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"github.com/cilium/ebpf"

	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/model"
	"ipytracer/tracer"
)

// peak is the memory of a process at its highest in a round, as the process itself measured it.
type peak struct {
	round, pid int
	held       amounts
}

// session has the storms' own figures of a session, and the tracer's.
type session struct {
	peaks     []peak
	processes int // the number of processes, by the storms' own account
	report    *model.Report
	lives     *lives
	passed    map[string][]uint64 // see [passed]
}

// trace runs storms under the tracer, from the first instruction to the end.
func trace(ctx context.Context, program string, storms []storm) (*session, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer from.Close()
	measured := make(chan []byte, 1)
	go func() {
		text, _ := io.ReadAll(from)
		measured <- text
	}()
	cmd := exec.Command(program)
	for _, s := range storms {
		cmd.Args = append(cmd.Args, s.name, strconv.Itoa(s.rounds))
	}
	cmd.ExtraFiles, cmd.Stderr = []*os.File{to}, os.Stderr
	live, err := tracer.Launch(cmd, tracer.Options{Copies: true})
	to.Close()
	if err != nil {
		return nil, err
	}
	defer live.Close()
	s := &session{lives: newLives()}
	s.report, err = s.lives.collect(ctx, live)
	if err != nil {
		return nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	if s.passed, err = passed(); err != nil {
		return nil, err
	}
	return s, s.parse(<-measured)
}

// parse reads the lines that the storm's processes wrote about themselves.
func (s *session) parse(text []byte) error {
	for line := range bytes.Lines(text) {
		var p peak
		if n, _ := fmt.Sscanf(string(line), "peak %d %d %d %d", &p.round, &p.pid, &p.held[0], &p.held[1]); n == 4 {
			s.peaks = append(s.peaks, p)
		} else if n, _ := fmt.Sscanf(string(line), "end %d", &s.processes); n != 1 {
			return fmt.Errorf("the storm said %.80q", line)
		}
	}
	if s.processes == 0 {
		return errors.New("the storm did not say how many processes there were")
	}
	return nil
}

// lives follows the boundaries of a session: which processes began and ended, and which boundaries arrived.
type lives struct {
	alive      map[int32]bool
	began      int                      // processes
	endedTwice int                      // ends of processes that had ended, or had not begun
	numbers    map[uint64]bool          // of the boundaries that arrived
	last       uint64                   // the highest of these
	twice      int                      // boundaries that came more than once
	born       map[int32]event.Readings // the memory that a forked process shares with its parent, by pid
}

func newLives() *lives {
	return &lives{alive: map[int32]bool{}, numbers: map[uint64]bool{}, born: map[int32]event.Readings{}}
}

// collect follows a session to its end.
func (l *lives) collect(ctx context.Context, live event.Source) (*model.Report, error) {
	tracker := attribution.New()
	err := event.Each(ctx, live, func(e event.Event) {
		if b, ok := e.(*event.Boundary); ok {
			l.see(b)
		}
		tracker.Add(e)
	})
	if err != nil {
		return nil, err
	}
	return tracker.Report(), nil
}

// see records a boundary.
func (l *lives) see(b *event.Boundary) {
	if l.numbers[b.Number] {
		l.twice++
	}
	l.numbers[b.Number] = true
	l.last = max(l.last, b.Number)
	switch b.Kind {
	case event.Attached, event.ProcessStart:
		l.begin(b.PID)
		l.born[b.PID] = event.Readings{}
		if b.Kind == event.ProcessStart {
			l.born[b.PID] = b.Value
		}
	case event.ProcessExec: // after vfork, the process begins here
		if !l.alive[b.PID] {
			l.begin(b.PID)
		}
		l.born[b.PID] = event.Readings{}
	case event.ProcessExit:
		if !l.alive[b.PID] {
			l.endedTwice++
		}
		delete(l.alive, b.PID)
	}
}

// begin records that a process began.
func (l *lives) begin(pid int32) {
	l.began++
	l.alive[pid] = true
}

// neverEnded returns the number of processes that have begun and not ended.
func (l *lives) neverEnded() int { return len(l.alive) }

// missing returns the number of boundaries that did not arrive.
func (l *lives) missing() int { return int(l.last) - len(l.numbers) }

// atTracepoints are the tracer's programs at tracepoints, by their names in the kernel.
var atTracepoints = map[string]bool{"resident": true, "mapped": true, "process_fork": true, "process_exec": true,
	"process_exit": true}

// passed returns, for each of the tracer's programs at tracepoints, the number of events for which Linux did not run
// each copy, because the CPU was already running that copy for another thread. The copies are in the order in which
// they were loaded.
func passed() (map[string][]uint64, error) {
	missed := map[string][]uint64{}
	for id := ebpf.ProgramID(0); ; {
		var err error
		if id, err = ebpf.ProgramGetNextID(id); errors.Is(err, os.ErrNotExist) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("list the BPF programs: %w", err)
		}
		if err := addMissed(id, missed); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return missed, nil
}

// addMissed adds the number of missed events of a program to missed, if it is one of the tracer's at a tracepoint.
func addMissed(id ebpf.ProgramID, missed map[string][]uint64) error {
	p, err := ebpf.NewProgramFromID(id)
	if err != nil {
		return err
	}
	defer p.Close()
	info, err := p.Info()
	if err != nil {
		return err
	}
	if !atTracepoints[info.Name] || p.Type() != ebpf.RawTracepoint {
		return nil
	}
	stats, err := p.Stats()
	if err != nil {
		return err
	}
	missed[info.Name] = append(missed[info.Name], stats.RecursionMisses)
	return nil
}
