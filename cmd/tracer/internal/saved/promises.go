package saved

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/output"
	"ipytracer/cmd/tracer/internal/session"
	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/event"
	"ipytracer/event/recording"
	"ipytracer/internal/host/invoker"
	"ipytracer/internal/host/process"
	"ipytracer/model"
)

// A recording may come from any source, and a look at processes needs rights that cannot be given up before it. So a
// separate process without rights reads the recording, and returns the promises to processes.

// promise is the memory that a process was to get back, and the largest objects of each entry.
type promise struct {
	process.Identity
	Free   []model.Freeing
	Pieces [][]event.Piece
	Memory event.Bytes // resident memory then
}

// recalled is the content of a recording, or the reason why there is none.
type recalled struct {
	BootID    string    `json:",omitempty"`
	Processes []promise `json:",omitempty"`
	Old       bool      `json:",omitempty"` // it does not have the objects
	Partial   string    `json:",omitempty"` // how far it goes, unless it is whole
	Error     string    `json:",omitempty"`
}

// Bounds of the data from a recording.
const (
	maxRecalled = 128      // processes
	maxPieces   = 4096     // objects of a process
	maxCode     = 4 << 10  // bytes of code to type
	maxRecall   = 64 << 20 // bytes of everything from a recording
)

const recallCommand = "recall"

func newRecallCommand(c console.Console) *cobra.Command {
	return status.Hidden(recallCommand, "List what a recording names to be freed; started by tracer itself",
		cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error {
			signal.Ignore(syscall.SIGINT, syscall.SIGHUP) // its parent ends it
			who, err := invoker.Find()
			if err == nil {
				err = output.Seclude(who, nil, nil, func(error) {})
			}
			if err != nil {
				return err
			}
			return json.NewEncoder(c.Out).Encode(recall(cmd.Context(), c.In))
		})
}

// recall reads a recording to its end: the last look at each process counts.
func recall(ctx context.Context, in io.Reader) (out recalled) {
	started, last := map[int32]uint64{}, map[int32]*event.Variables{}
	var order []int32
	note := func(p event.ProcessInfo) { started[p.PID] = p.Started }
	extent, err := readRecording(ctx, in, func(e event.Event) {
		switch e := e.(type) {
		case *event.Start:
			out.BootID = e.Host.BootID
			for _, p := range e.Processes {
				note(p)
			}
		case *event.Process:
			note(e.ProcessInfo)
		case *event.Variables:
			if e.Early || last[e.PID] == nil && len(order) == maxRecalled {
				return
			}
			if last[e.PID] == nil {
				order = append(order, e.PID)
			}
			last[e.PID] = e
		}
	})
	if errors.Is(err, recording.ErrNotRecording) {
		return recalled{Error: err.Error() + "; --check takes what --record has written, not a report or an audit"}
	}
	if err != nil {
		return recalled{Error: err.Error()}
	}
	if !extent.IsWhole() {
		out.Partial = extent.String()
	}
	for _, pid := range order {
		if !extent.IsWhole() {
			e := attribution.Partial(*last[pid])
			last[pid] = &e
		}
		one := promise{Identity: process.Identity{PID: int(pid), StartTicks: started[pid]}}
		all, of := session.ToFree(last[pid])
		one.Free, one.Pieces = checkable(all, of)
		one.Memory = last[pid].Memory
		if len(all) > 0 && (started[pid] == 0 || len(one.Free) == 0) {
			out.Old = true
		} else if len(one.Free) > 0 {
			out.Processes = append(out.Processes, one)
		}
	}
	return out
}

// promisedIn returns the promises of a recording for each of its processes.
func promisedIn(ctx context.Context, s *session.Session, path string) ([]promise, error) {
	file, err := s.Rights.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the recording: %w", err)
	}
	defer file.Close()
	progress := console.StartProgress(s.Console.Err, s.Options.Quiet, "reading")
	defer progress.Stop()
	found, err := askRecall(ctx, file)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, err)
	case found.Error != "":
		return nil, fmt.Errorf("read %s: %s", path, found.Error)
	case len(found.Processes) == 0 && found.Old:
		return nil, status.Usagef(
			"%s is of an earlier tracer, which does not record the objects that a check looks for: "+
				"'sudo tracer audit --check PID' needs no recording", path)
	case len(found.Processes) == 0:
		return nil, status.Usagef("%s names nothing that can be freed: there is nothing to check", path)
	}
	if found.Partial != "" {
		s.Console.Say("%s", output.PartialText(path, found.Partial))
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil, err
	}
	if found.BootID != strings.TrimSpace(string(boot)) {
		return nil, status.Usagef(
			"%s was recorded on another machine, or before this one was started: its processes are not here",
			path)
	}
	return found.Processes, nil
}

// askRecall has another process read a recording, and keeps the part of the answer that is within bounds.
func askRecall(ctx context.Context, file *os.File) (found recalled, err error) {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", recallCommand)
	cmd.Env, cmd.Dir, cmd.WaitDelay = append(os.Environ(), "GOMAXPROCS=2"), "/", time.Second
	cmd.Stdin, cmd.Stderr = file, os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return found, err
	}
	err = json.NewDecoder(io.LimitReader(out, maxRecall)).Decode(&found)
	if err != nil {
		_ = cmd.Process.Kill()
	}
	err = errors.Join(err, cmd.Wait())
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return found.bounded(), err
}

// bounded removes everything beyond the bounds.
func (r recalled) bounded() recalled {
	all := r.Processes[:min(len(r.Processes), maxRecalled)]
	r.Processes = nil
	for _, p := range all {
		one, pieces := promise{Identity: p.Identity, Memory: p.Memory}, 0
		for i, f := range p.Free {
			if i >= len(p.Pieces) || len(f.Type) > maxCode || f.Predicted < 0 || f.Falls() < 0 || f.Device < 0 ||
				pieces+len(p.Pieces[i]) > maxPieces {
				continue
			}
			f.PID = p.PID
			pieces += len(p.Pieces[i])
			one.Free, one.Pieces = append(one.Free, f), append(one.Pieces, p.Pieces[i])
		}
		if len(one.Free) > 0 && p.PID > 0 && p.StartTicks > 0 {
			r.Processes = append(r.Processes, one)
		}
	}
	return r
}

// checkable returns those entries that a later look can check, and the objects of each.
func checkable(all []model.Freeing, of [][]event.Piece) (free []model.Freeing, pieces [][]event.Piece) {
	for i := range all {
		if len(of[i]) > 0 {
			free, pieces = append(free, all[i]), append(pieces, of[i])
		}
	}
	return free, pieces
}
