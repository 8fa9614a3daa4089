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
	"ipytracer/cmd/tracer/internal/session"
	"ipytracer/event"
	"ipytracer/event/recording"
	"ipytracer/internal/host/privileges"
	"ipytracer/internal/host/process"
	"ipytracer/model"
)

// A recording may come from any source, so it must be read without rights. But the look at processes that follows needs
// rights. So another process, without rights, reads the recording and sends back the promises.

// promise is what a look promised about a process: the memory that its user can free.
type promise struct {
	process.Identity
	Free   []model.Freeing // the code that frees memory
	Pieces [][]event.Piece // the largest objects that go with each of Free
	Memory event.Bytes     // resident memory at the time of the look
}

// recalled is what the other process found in a recording, or the reason why it found nothing.
type recalled struct {
	BootID    string    `json:",omitempty"`
	Processes []promise `json:",omitempty"`
	Old       bool      `json:",omitempty"` // the recording is of a version that did not record the objects
	Partial   string    `json:",omitempty"` // how far the recording goes; "" if it is whole
	Error     string    `json:",omitempty"`
}

// Bounds of the data from a recording.
const (
	maxRecalled = 128      // processes
	maxPieces   = 4096     // objects of a process
	maxCode     = 4 << 10  // bytes of code
	maxRecall   = 64 << 20 // bytes of the answer
)

const recallCommand = "recall"

func newRecallCommand(c console.Console) *cobra.Command {
	return console.Hidden(recallCommand, "List what a recording names to be freed; started by tracer itself",
		cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error {
			signal.Ignore(syscall.SIGINT, syscall.SIGHUP) // the parent ends this process
			who, err := privileges.FindInvoker()
			if err == nil {
				err = console.Seclude(who, nil, nil, func(error) {})
			}
			if err != nil {
				return err
			}
			return json.NewEncoder(c.Out).Encode(recall(cmd.Context(), c.In))
		})
}

// recall reads a recording to its end, and returns the promises of the last look at each process.
func recall(ctx context.Context, in io.Reader) (out recalled) {
	looks := lastLooks{started: map[int32]uint64{}, last: map[int32]*event.Variables{}}
	extent, err := readRecording(ctx, in, looks.add)
	if errors.Is(err, recording.ErrNotRecording) {
		return recalled{Error: err.Error() + "; --check takes what --record has written, not a report or an audit"}
	}
	if err != nil {
		return recalled{Error: err.Error()}
	}
	out.BootID = looks.bootID
	if !extent.IsWhole() {
		out.Partial = extent.String()
	}
	for _, pid := range looks.order {
		look := looks.last[pid]
		if !extent.IsWhole() {
			partial := attribution.Partial(*look)
			look = &partial
		}
		p := promise{Identity: process.Identity{PID: int(pid), StartTicks: looks.started[pid]}, Memory: look.Memory}
		entries, entryPieces := session.ToFree(look)
		p.Free, p.Pieces = checkable(entries, entryPieces)
		if len(entries) > 0 && (p.StartTicks == 0 || len(p.Free) == 0) {
			out.Old = true
		} else if len(p.Free) > 0 {
			out.Processes = append(out.Processes, p)
		}
	}
	return out
}

// lastLooks has the last look at each process in a recording, up to maxRecalled processes.
type lastLooks struct {
	bootID  string
	started map[int32]uint64 // by process ID
	last    map[int32]*event.Variables
	order   []int32 // the process IDs in last
}

func (l *lastLooks) add(e event.Event) {
	switch e := e.(type) {
	case *event.Start:
		l.bootID = e.Host.BootID
		for _, p := range e.Processes {
			l.started[p.PID] = p.Started
		}
	case *event.Process:
		l.started[e.PID] = e.Started
	case *event.Variables:
		isNew := l.last[e.PID] == nil
		if e.Early || isNew && len(l.order) == maxRecalled {
			return
		}
		if isNew {
			l.order = append(l.order, e.PID)
		}
		l.last[e.PID] = e
	}
}

// readPromises returns a recording's promises. The recording must be of this machine since its last start.
func readPromises(ctx context.Context, s *session.Session, path string) ([]promise, error) {
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
		return nil, console.Usagef(
			"%s is of an earlier tracer, which does not record the objects that a check looks for: "+
				"'sudo tracer audit --check PID' needs no recording", path)
	case len(found.Processes) == 0:
		return nil, console.Usagef("%s names nothing that can be freed: there is nothing to check", path)
	}
	if found.Partial != "" {
		s.Console.Say("%s", console.PartialText(path, found.Partial))
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil, err
	}
	if found.BootID != strings.TrimSpace(string(boot)) {
		return nil, console.Usagef(
			"%s was recorded on another machine, or before this one was started: its processes are not here", path)
	}
	return found.Processes, nil
}

// askRecall makes another process read a recording, and returns its answer within the bounds.
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

// bounded returns the answer without everything that is invalid or beyond the bounds.
func (r recalled) bounded() recalled {
	processes := r.Processes[:min(len(r.Processes), maxRecalled)]
	r.Processes = nil
	for _, p := range processes {
		kept, pieces := promise{Identity: p.Identity, Memory: p.Memory}, 0
		for i, f := range p.Free {
			isInvalid := i >= len(p.Pieces) || f.Predicted < 0 || f.Falls() < 0 || f.Device < 0
			if isInvalid || len(f.Type) > maxCode || pieces+len(p.Pieces[i]) > maxPieces {
				continue
			}
			f.PID = p.PID
			pieces += len(p.Pieces[i])
			kept.Free, kept.Pieces = append(kept.Free, f), append(kept.Pieces, p.Pieces[i])
		}
		if len(kept.Free) > 0 && p.PID > 0 && p.StartTicks > 0 {
			r.Processes = append(r.Processes, kept)
		}
	}
	return r
}

// checkable returns the entries that a later look can check, because their objects are known, and these objects.
func checkable(entries []model.Freeing, entryPieces [][]event.Piece) (free []model.Freeing, pieces [][]event.Piece) {
	for i := range entries {
		if len(entryPieces[i]) > 0 {
			free, pieces = append(free, entries[i]), append(pieces, entryPieces[i])
		}
	}
	return free, pieces
}
