// Package look lets the program look into everybody's processes and files. It does so in a separate process, which is
// the invoking user's and has no rights, with a helper that opens files ([process.Helper.TakeOver]). The callers decide
// what to look for.
package look

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"ipytracer/tracer"
	"ipytracer/tracer/host/invoker"
	"ipytracer/tracer/host/process"
)

// Command is the hidden command that looks: it calls [Serve].
const Command = "look"

const (
	patience  = 5 * time.Second
	maxAnswer = 64 << 20 // bytes of an answer
)

// For is one thing that can be looked for.
type For struct {
	Reads []string // files that are read by name, as the invoking user
	// Find looks. Its result is sent as JSON. pid is the process that the look is about, 0 if there is none; home is
	// the invoking user's.
	Find func(ctx context.Context, fs process.FS, pid int, home string) (any, error)
}

// answer is the process's answer, as JSON.
type answer struct {
	Found json.RawMessage `json:",omitempty"`
	Error string          `json:",omitempty"`
	// For an error that is about a process: the process, and the kind.
	PID, Leader int    `json:",omitempty"`
	Kind        string `json:",omitempty"`
}

// kinds are the errors about processes that the answer distinguishes.
var kinds = map[string]error{
	"gone": process.ErrNoProcess, "permission": process.ErrNotPermitted, "zombie": process.ErrZombie,
	"other":   process.ErrNotPython,
	"changed": process.ErrChanged, "large": process.ErrTooLarge, "malformed": process.ErrMalformed,
	"silent": process.ErrNoAnswer,
}

func failed(err error) answer {
	a := answer{Error: err.Error()}
	var of *process.Error
	if errors.As(err, &of) {
		for kind, one := range kinds {
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

func (a *answer) err() error {
	if kind := kinds[a.Kind]; kind != nil {
		return &process.Error{PID: a.PID, Kind: kind, Leader: a.Leader, Cause: errors.New(a.Error)}
	}
	if a.Error != "" {
		return errors.New(a.Error)
	}
	return nil
}

// Serve gives up all rights of this process, for good, looks, and writes its findings to w.
func Serve(ctx context.Context, w io.Writer, what For, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return json.NewEncoder(w).Encode(confined(ctx, what, pid))
}

// confined gives up everything, and looks.
func confined(ctx context.Context, what For, pid int) (a answer) {
	fs := process.FS{Helper: process.NewHelper(ctx)}
	defer fs.Helper.Close()
	if err := fs.Helper.TakeOver(&process.Scope{}); err != nil {
		return failed(err)
	}
	who, err := invoker.Find()
	if err != nil {
		return failed(err)
	}
	home, remains := who.Home(), tracer.Remains{Reads: what.Reads, User: who.Heir()}
	if err := tracer.Withdraw(remains, nil, tracer.Looking(), func(error) {}); err != nil {
		return failed(err)
	}
	found, err := what.Find(ctx, fs, pid, home)
	if err != nil {
		return failed(err)
	}
	if a.Found, err = json.Marshal(found); err != nil {
		return failed(err)
	}
	return a
}
