package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ipytracer/tracer"
	"ipytracer/tracer/invoker"
	"ipytracer/tracer/process"
)

// lookCommand is the hidden command by which the program looks into everybody's processes: in a process of its own, which is the invoking
// user's and has no rights, with a helper that opens files ([process.Helper.TakeOver]).
const lookCommand = "look"

const (
	lookPatience = 5 * time.Second
	maxLook      = 64 << 20 // bytes of an answer
)

// lookFor is one thing that can be looked for.
type lookFor struct {
	reads []string // what is read by name, as the invoking user
	find  func(ctx context.Context, fs process.FS, pid int, home string) (any, error)
}

// looks are what can be looked for. The home is the invoking user's.
var looks = map[string]lookFor{
	"kernels": {find: func(ctx context.Context, fs process.FS, _ int, _ string) (any, error) {
		return findKernels(ctx, fs, false)
	}},
	"all": {find: func(ctx context.Context, fs process.FS, _ int, _ string) (any, error) {
		return findKernels(ctx, fs, true)
	}},
	"pythons": {find: func(ctx context.Context, fs process.FS, _ int, _ string) (any, error) { return findRunning(ctx, fs) }},
	"python": {find: func(_ context.Context, fs process.FS, pid int, _ string) (any, error) {
		p, err := fs.Python(pid, tracer.IsPython)
		if err != nil {
			return nil, err
		}
		return describeRunning(fs, p), nil
	}},
	"files": {reads: []string{"/"}, find: func(_ context.Context, _ process.FS, _ int, home string) (any, error) { return findFiles(home), nil }},
}

// lookAnswer is what the process says, as JSON.
type lookAnswer struct {
	Found json.RawMessage `json:",omitempty"`
	Error string          `json:",omitempty"`
	// Of the error, if it is about a process: which, and of lookKinds which.
	PID, Leader int    `json:",omitempty"`
	Kind        string `json:",omitempty"`
}

// lookKinds are the errors about processes that are told apart.
var lookKinds = map[string]error{
	"gone": process.ErrNoProcess, "permission": process.ErrNotPermitted, "zombie": process.ErrZombie, "other": process.ErrNotPython,
	"changed": process.ErrChanged, "large": process.ErrTooLarge, "malformed": process.ErrMalformed, "silent": process.ErrNoAnswer,
}

func failedLook(err error) lookAnswer {
	a := lookAnswer{Error: err.Error()}
	var of *process.Error
	if errors.As(err, &of) {
		for kind, one := range lookKinds {
			if of.Kind == one {
				a.Kind, a.PID, a.Leader = kind, of.PID, of.Leader
			}
		}
		if a.Kind != "" && of.Cause != nil {
			a.Error = of.Cause.Error()
		}
	}
	return a
}

func (a *lookAnswer) err() error {
	if kind := lookKinds[a.Kind]; kind != nil {
		return &process.Error{PID: a.PID, Kind: kind, Leader: a.Leader, Cause: errors.New(a.Error)}
	}
	if a.Error != "" {
		return errors.New(a.Error)
	}
	return nil
}

func newLookCommand(c console) *cobra.Command {
	return &cobra.Command{
		Use:    lookCommand,
		Short:  "Look into processes; started by tracer itself",
		Hidden: true,
		Args:   usageArgs(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			signal.Ignore(syscall.SIGINT, syscall.SIGHUP) // who started it ends it
			what, ok := looks[args[0]]
			if !ok {
				return usageError{fmt.Errorf("%q cannot be looked for", args[0])}
			}
			pids, err := parsePIDs(args[1:])
			if err != nil {
				return usageError{err}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), lookPatience)
			defer cancel()
			return json.NewEncoder(c.out).Encode(lookConfined(ctx, what, append(pids, 0)[0]))
		},
	}
}

// lookConfined gives up everything, and looks.
func lookConfined(ctx context.Context, what lookFor, pid int) (a lookAnswer) {
	fs := process.FS{Helper: process.NewHelper(ctx)}
	defer fs.Helper.Close()
	if err := fs.Helper.TakeOver(nil, false); err != nil {
		return failedLook(err)
	}
	who, err := invoker.Find()
	if err != nil {
		return failedLook(err)
	}
	home, remains := who.Home(), tracer.Remains{Reads: what.reads, User: who.Heir()}
	if err := tracer.Withdraw(remains, nil, tracer.Looking(), func(error) {}); err != nil {
		return failedLook(err)
	}
	found, err := what.find(ctx, fs, pid, home)
	if err != nil {
		return failedLook(err)
	}
	if a.Found, err = json.Marshal(found); err != nil {
		return failedLook(err)
	}
	return a
}

// look has another process look, and takes in what it found. pid is of the process that is meant, if one is.
func look(ctx context.Context, found any, what string, pid ...int) error {
	ctx, cancel := context.WithTimeout(ctx, 2*lookPatience)
	defer cancel()
	args := []string{lookCommand, what}
	for _, p := range pid {
		args = append(args, strconv.Itoa(p))
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", args...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = append(os.Environ(), "GOMAXPROCS=2"), "/", time.Second
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("look into processes: %w", err)
	}
	var answer lookAnswer
	decoded := json.NewDecoder(io.LimitReader(out, maxLook)).Decode(&answer)
	if err := errors.Join(decoded, cmd.Wait()); err != nil {
		return fmt.Errorf("look into processes: %w", errors.Join(context.Cause(ctx), err))
	}
	if err := answer.err(); err != nil {
		return err
	}
	return json.Unmarshal(answer.Found, found)
}
