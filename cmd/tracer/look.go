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
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ipytracer/tracer"
	"ipytracer/tracer/process"
)

// lookCommand is the hidden command by which the program looks into everybody's processes: in a process of its own, which is the invoking
// user's and has no rights, with a helper that opens files ([process.Helper.TakeOver]).
const lookCommand = "look"

const (
	lookPatience = 5 * time.Second
	maxLook      = 64 << 20 // bytes of an answer
)

// looks are what can be looked for.
var looks = map[string]func(context.Context, process.FS) (any, error){
	"kernels": func(ctx context.Context, fs process.FS) (any, error) { return findKernels(ctx, fs, false) },
	"all":     func(ctx context.Context, fs process.FS) (any, error) { return findKernels(ctx, fs, true) },
	"pythons": func(ctx context.Context, fs process.FS) (any, error) { return findRunning(ctx, fs) },
}

// lookAnswer is what the process says, as JSON.
type lookAnswer struct {
	Found json.RawMessage `json:",omitempty"`
	Error string          `json:",omitempty"`
}

func newLookCommand(c console) *cobra.Command {
	return &cobra.Command{
		Use:    lookCommand,
		Short:  "Look into processes; started by tracer itself",
		Hidden: true,
		Args:   usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			signal.Ignore(syscall.SIGINT, syscall.SIGHUP) // who started it ends it
			find := looks[args[0]]
			if find == nil {
				return usageError{fmt.Errorf("%q cannot be looked for", args[0])}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), lookPatience)
			defer cancel()
			return json.NewEncoder(c.out).Encode(lookConfined(ctx, find))
		},
	}
}

// lookConfined gives up everything, and looks.
func lookConfined(ctx context.Context, find func(context.Context, process.FS) (any, error)) (a lookAnswer) {
	fail := func(err error) lookAnswer { return lookAnswer{Error: err.Error()} }
	fs := process.FS{Helper: process.NewHelper(ctx)}
	defer fs.Helper.Close()
	if err := fs.Helper.TakeOver(nil, false); err != nil {
		return fail(err)
	}
	who, err := whoInvoked()
	if err != nil {
		return fail(err)
	}
	remains := tracer.Remains{}
	if os.Geteuid() == 0 && who.UID != 0 {
		remains.User = &who.User
	}
	if err := tracer.Withdraw(remains, nil, tracer.Looking(), func(error) {}); err != nil {
		return fail(err)
	}
	found, err := find(ctx, fs)
	if err != nil {
		return fail(err)
	}
	if a.Found, err = json.Marshal(found); err != nil {
		return fail(err)
	}
	return a
}

// look has another process look, and takes in what it found.
func look(ctx context.Context, what string, found any) error {
	ctx, cancel := context.WithTimeout(ctx, 2*lookPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", lookCommand, what)
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
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	return json.Unmarshal(answer.Found, found)
}
